/* diagnostic: see hip.h. A message of clang is "FILE:LINE:COLUMN: error: TEXT" or, from behind the front end, "error:
 * TEXT"; the lines behind it quote the source. */
#include "backends/hip/hip.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static bool starts(const char *at, const char *part)
{
	return strncmp(at, part, strlen(part)) == 0;
}

/* Notes and quoted lines belong to the message before them. */
static enum gpu_severity severity_of(const char *text)
{
	return starts(text, "error:") || starts(text, "fatal error:") ? GPU_ERROR
	       : starts(text, "warning:") || starts(text, "remark:")  ? GPU_WARNING
								      : GPU_CONTINUES;
}

void hip_diagnostic_clean(const char *log, bool errors_only, struct buf *out)
{
	struct gpu_messages messages = { .list = NULL };
	char *line;
	while ((line = gpu_diagnostic_line(&log))) {
		enum gpu_severity severity = severity_of(line);
		unsigned number, column;
		char file[200];
		int at = 0;
		/* "3 errors generated when compiling for gfx90a." and "1 warning and 1 error generated." */
		if (!*line || starts(line, "In file included from ") ||
		    (isdigit((unsigned char)*line) && strstr(line, " generated"))) {
			free(line);
			continue;
		}
		if (sscanf(line, "%199[^:]:%u:%u: %n", file, &number, &column, &at) == 3 && at &&
		    (severity_of(line + at) != GPU_CONTINUES || starts(line + at, "note:"))) {
			char *with_file = mem_fmt("%s(%u): %s", file, number, line + at);
			severity = severity_of(line + at);
			free(line);
			line = with_file;
		}
		gpu_diagnostic_add(&messages, severity, line);
	}
	gpu_diagnostic_print(&messages, errors_only, out);
	gpu_diagnostic_fini(&messages);
}
