/* base/log: one line per message, levels, and systemd's priorities. */
#include "base/log.h"

#include <fcntl.h>
#include <unistd.h>

#include "tap.h"

/* What log_message(level, "%s", text) writes to stderr; the caller's buffer holds it. */
static const char *logged(enum log_level level, const char *text, char *line, size_t size)
{
	int fds[2];
	int saved = dup(STDERR_FILENO);
	if (saved < 0 || pipe(fds) != 0)
		return "no pipe";
	dup2(fds[1], STDERR_FILENO);
	log_message(level, "%s", text);
	dup2(saved, STDERR_FILENO);
	close(saved);
	close(fds[1]);
	ssize_t n = read(fds[0], line, size - 1);
	close(fds[0]);
	line[n > 0 ? n : 0] = '\0';
	return line;
}

static void levels(char *line, size_t size)
{
	has_str(logged(LOG_LEVEL_ERROR, "broken", line, size), "error: broken\n", "errors are written");
	has_str(logged(LOG_LEVEL_WARNING, "odd", line, size), "warning: odd\n", "warnings are written");
	is_str(logged(LOG_LEVEL_INFO, "news", line, size), "", "at first info is not written");
	log_set_level(LOG_LEVEL_INFO);
	has_str(logged(LOG_LEVEL_INFO, "news", line, size), "info: news\n", "info is written at level info");
	is_str(logged(LOG_LEVEL_DEBUG, "detail", line, size), "", "debug is not written at level info");
	is_int(log_level_parse("debug"), LOG_LEVEL_DEBUG, "debug is the name of a level");
	is_int(log_level_parse("error"), LOG_LEVEL_ERROR, "error is the name of a level");
	is_int(log_level_parse("loud"), -1, "an unknown level is refused");
}

int main(void)
{
	char line[8192];
	unsetenv("JOURNAL_STREAM");
	levels(line, sizeof line);

	logged(LOG_LEVEL_ERROR,
	       "a\nb\tc\x1b[31m\x7f"
	       "d\r",
	       line, sizeof line);
	has_str(line, "error: a b c?[31m?d?\n", "control characters do not reach the terminal");
	is_str(strchr(line, '\n'), "\n", "one message is one line");
	has_str(logged(LOG_LEVEL_ERROR, "grün …", line, sizeof line), "grün …\n", "UTF-8 is written unchanged");
	has_str(line, "peakd[", "the line names the process");
	ok(line[2] == ':' && line[5] == ':', "the line begins with the time of day");

	char big[5000];
	memset(big, 'x', sizeof big - 1);
	big[sizeof big - 1] = '\0';
	logged(LOG_LEVEL_ERROR, big, line, sizeof line);
	ok(strlen(line) > sizeof big && line[strlen(line) - 1] == '\n', "a long message is written completely");

	setenv("JOURNAL_STREAM", "8:1", 1);
	ok(strncmp(logged(LOG_LEVEL_WARNING, "odd", line, sizeof line), "<4>peakd[", 9) == 0, "systemd gets a priority");
	return tap_done();
}
