/* log: stderr lines with a level; see log.h. Used at the edges of every process. */
#include "base/log.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/utf8.h"

/* The one mutable global that house rule 6 allows here. */
static atomic_int level_now = LOG_LEVEL_WARNING;

static const struct {
	const char *name;
	int priority; /* syslog's numbers, which systemd reads as <N> */
} levels[] = {
	[LOG_LEVEL_ERROR] = { "error", 3 },
	[LOG_LEVEL_WARNING] = { "warning", 4 },
	[LOG_LEVEL_INFO] = { "info", 6 },
	[LOG_LEVEL_DEBUG] = { "debug", 7 },
};

void log_set_level(enum log_level level)
{
	atomic_store(&level_now, (int)level);
}

int log_level_parse(const char *name)
{
	for (size_t i = 0; i < MEM_COUNT(levels); i++)
		if (strcmp(levels[i].name, name) == 0)
			return (int)i;
	return -1;
}

static void one_line(char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < 0x20 || *text == 0x7f)
			*text = *text == '\n' || *text == '\t' ? ' ' : '?';
}

static bool is_json(void)
{
	const char *format = getenv("PEAKD_LOG_FORMAT");
	return format && strcmp(format, "json") == 0;
}

static void add_string(struct buf *out, const char *key, const char *text, size_t n)
{
	buf_addf(out, ",\"%s\":\"", key);
	for (size_t i = 0; i < n; i++) {
		if (text[i] == '"' || text[i] == '\\')
			buf_addc(out, '\\');
		buf_addc(out, text[i]);
	}
	buf_addc(out, '"');
}

/* A message about a job begins with "job ID: " wherever it is written, so the id becomes a field. */
static char *json_line(enum log_level level, const char *text)
{
	struct buf out = BUF_INIT;
	char now[32];
	size_t id = strncmp(text, "job j", 5) == 0 ? strcspn(text + 4, ": ") : 0;
	buf_addf(&out, "{\"time\":\"%s\",\"pid\":%d", clock_iso(clock_wall_ms(), now), (int)getpid());
	add_string(&out, "level", levels[level].name, strlen(levels[level].name));
	if (id)
		add_string(&out, "job", text + 4, id);
	add_string(&out, "message", text, strlen(text));
	buf_adds(&out, "}\n");
	return buf_steal(&out);
}

void log_message(enum log_level level, const char *fmt, ...)
{
	if ((int)level > atomic_load(&level_now))
		return;
	va_list ap;
	va_start(ap, fmt);
	char *text = mem_fmtv(fmt, ap);
	va_end(ap);
	utf8_clean(text);
	one_line(text);
	char line_start[48];
	if (getenv("JOURNAL_STREAM")) {
		snprintf(line_start, sizeof line_start, "<%d>", levels[level].priority);
	} else {
		struct timespec now;
		struct tm tm;
		clock_gettime(CLOCK_REALTIME, &now);
		localtime_r(&now.tv_sec, &tm);
		strftime(line_start, sizeof line_start, "%H:%M:%S ", &tm);
	}
	/* One write a line, so that lines of several processes do not mix. */
	char *line = is_json() ? json_line(level, text)
			       : mem_fmt("%speakd[%d] %s: %s\n", line_start, (int)getpid(), levels[level].name, text);
	ssize_t ignored = write(STDERR_FILENO, line, strlen(line));
	(void)ignored;
	free(line);
	free(text);
}
