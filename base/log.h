/* log: one line a message on stderr, as systemd and people read it. Library rooms do not log errors: they return them,
 * and the edge (a verb, a tool, a job thread) logs them once. */
#ifndef PEAKD_BASE_LOG_H
#define PEAKD_BASE_LOG_H

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARNING, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

/* Messages above this level are dropped; LOG_LEVEL_WARNING at start. */
void log_set_level(enum log_level level);
/* "error", "warning", "info" or "debug"; -1 for anything else. */
int log_level_parse(const char *name);
/* Under systemd (JOURNAL_STREAM set) lines carry <N> priorities, else a time of day. Control characters become '?'.
 * PEAKD_LOG_FORMAT=json: an object a line, with time, level, pid, message, and job where the message is about one. */
void log_message(enum log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#define log_error(...) log_message(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warning(...) log_message(LOG_LEVEL_WARNING, __VA_ARGS__)
#define log_info(...) log_message(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...) log_message(LOG_LEVEL_DEBUG, __VA_ARGS__)

#endif
