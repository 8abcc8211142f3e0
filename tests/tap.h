/* tap: the whole test framework. A test is a program that prints TAP for prove(1): ok(), is_int(), is_str(), then
 * return tap_done(). `SKIP(n, why)` stands for n checks that this machine cannot make, and says why. */
#ifndef PEAKD_TESTS_TAP_H
#define PEAKD_TESTS_TAP_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int tap_count, tap_failures;

__attribute__((format(printf, 4, 5), unused))
static int tap_ok(int good, const char *file, int line, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	printf("%sok %d - ", good ? "" : "not ", ++tap_count);
	vprintf(fmt, ap);
	printf("\n");
	va_end(ap);
	if (!good) {
		tap_failures++;
		printf("# failed at %s:%d\n", file, line);
	}
	fflush(stdout);
	return good;
}

#define ok(cond, ...) tap_ok(!!(cond), __FILE__, __LINE__, __VA_ARGS__)

#define is_int(got, want, ...) do { \
	long long tap_g = (long long)(got), tap_w = (long long)(want); \
	if (!tap_ok(tap_g == tap_w, __FILE__, __LINE__, __VA_ARGS__)) \
		printf("#  got: %lld\n# want: %lld\n", tap_g, tap_w); \
} while (0)

#define is_str(got, want, ...) do { \
	const char *tap_g = (got), *tap_w = (want); \
	if (!tap_ok(tap_g && tap_w && strcmp(tap_g, tap_w) == 0, __FILE__, __LINE__, __VA_ARGS__)) \
		printf("#  got: %s\n# want: %s\n", tap_g ? tap_g : "(null)", tap_w ? tap_w : "(null)"); \
} while (0)

/* The text contains the part. */
#define has_str(got, part, ...) do { \
	const char *tap_g = (got), *tap_w = (part); \
	if (!tap_ok(tap_g && strstr(tap_g, tap_w) != NULL, __FILE__, __LINE__, __VA_ARGS__)) \
		printf("#  got: %s\n# part: %s\n", tap_g ? tap_g : "(null)", tap_w); \
} while (0)

#define SKIP(n, ...) do { \
	for (int tap_i = 0; tap_i < (n); tap_i++) { \
		printf("ok %d # SKIP ", ++tap_count); printf(__VA_ARGS__); printf("\n"); \
	} \
} while (0)

__attribute__((unused))
static int tap_done(void)
{
	printf("1..%d\n", tap_count);
	return tap_failures ? 1 : 0;
}

#endif
