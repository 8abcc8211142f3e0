/* diagnostic: see diagnostic.h. A message of clang is "FILE:LINE:COLUMN: error: TEXT" or, from behind the front end, "error: TEXT"; the
 * lines behind it quote the source. */
#include "backends/hip/diagnostic.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { ROUNDS = 2, FILE_MAX = 200 }; /* errors, then the rest */

enum severity { QUOTE, ERROR, WARNING, NOTE, NOISE };

struct message { enum severity severity; char file[FILE_MAX]; unsigned line; const char *text; /* in the line; from "error:" on */ };

static bool starts(const char *at, const char *part)
{
	return strncmp(at, part, strlen(part)) == 0;
}

static enum severity severity_of(const char *text)
{
	return starts(text, "error:") || starts(text, "fatal error:") ? ERROR :
	       starts(text, "warning:") || starts(text, "remark:") ? WARNING : starts(text, "note:") ? NOTE : QUOTE;
}

/* "3 errors generated when compiling for gfx90a." and "1 warning and 1 error generated." */
static bool is_count(const char *at)
{
	return isdigit((unsigned char)*at) && strstr(at, " generated");
}

static struct message read_line(const char *line)
{
	struct message m = { .severity = severity_of(line), .text = line };
	unsigned column;
	int text = 0;

	if (!*line || is_count(line) || starts(line, "In file included from "))
		m.severity = NOISE;
	else if (m.severity == QUOTE && sscanf(line, "%199[^:]:%u:%u: %n", m.file, &m.line, &column, &text) == 3 && text) {
		m.text = line + text;
		m.severity = severity_of(m.text);
	}
	return m;
}

static void add_line(const struct message *m, const char *line, struct buf *out)
{
	size_t start = out->len;

	if (m->severity != QUOTE && m->line)
		buf_addf(out, "%s(%u): %s\n", m->file, m->line, m->text);
	else
		buf_addf(out, "%s\n", line);
	for (size_t i = start; i < out->len; i++)
		if (iscntrl((unsigned char)out->data[i]) && out->data[i] != '\n' && out->data[i] != '\t')
			out->data[i] = '?';
}

void hip_diagnostic_clean(const char *log, bool errors_only, struct buf *out)
{
	for (int round = 0; round < (errors_only ? 1 : ROUNDS); round++) {
		bool wanted = false;
		for (const char *at = log, *end; *at; at = *end ? end + 1 : end) {
			struct message m;
			char *line;
			end = strchrnul(at, '\n');
			line = mem_strn(at, (size_t)(end - at));
			m = read_line(line);
			/* Notes and quoted lines belong to the message before them. */
			if (m.severity == ERROR || m.severity == WARNING)
				wanted = (m.severity == ERROR) == (round == 0);
			if (wanted && m.severity != NOISE)
				add_line(&m, line, out);
			free(line);
		}
	}
}

bool hip_diagnostic_is_assembler(const char *log)
{
	return strstr(log, "cannot compile inline asm") != NULL;
}

bool hip_diagnostic_shared(const char *log, unsigned *ret_asked, unsigned *ret_allowed)
{
	const char *at = strstr(log, "local memory (");
	return at && sscanf(at, "local memory (%u) exceeds limit (%u)", ret_asked, ret_allowed) == 2;
}

char *hip_diagnostic_header(const char *log)
{
	const char *end = strstr(log, "' file not found"), *at = end;

	if (!end)
		return NULL;
	while (at > log && at[-1] != '\'' && at[-1] != '\n')
		at--;
	return mem_strn(at, (size_t)(end - at));
}
