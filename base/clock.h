/* clock: times in nanoseconds, and the deadlines made of them. */
#ifndef PEAKD_BASE_CLOCK_H
#define PEAKD_BASE_CLOCK_H

#include <stdint.h>

#define CLOCK_MS INT64_C(1000000)   /* nanoseconds in a millisecond */
#define CLOCK_S INT64_C(1000000000) /* nanoseconds in a second */
#define CLOCK_NEVER INT64_MAX       /* a deadline that does not come */

/* Monotonic, nanoseconds. */
int64_t clock_now(void);
/* Processor time of this process, nanoseconds: other processes do not lengthen it. */
int64_t clock_cpu(void);
/* Wall clock, milliseconds since 1970 UTC: what the database stores. */
int64_t clock_wall_ms(void);
/* Milliseconds until a monotonic deadline as poll(2) wants them: rounded up, 0 when past, -1 for CLOCK_NEVER. */
int clock_poll_ms(int64_t deadline);
/* "2026-11-20T17:31:00Z" for wall-clock milliseconds; text holds 32 bytes. Returns text. */
char *clock_iso(int64_t wall_ms, char text[32]);
void clock_sleep(int64_t ns);

#endif
