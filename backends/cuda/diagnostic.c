/* diagnostic: see diagnostic.h. A message of NVRTC starts in the first column ("device(12): error: …"); the lines that quote the
 * source behind it are indented. */
#include "backends/cuda/diagnostic.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { ROUNDS = 2 }; /* errors, then the rest */

struct line { const char *at; size_t len; };

static bool next_line(const char **text, struct line *ret)
{
	const char *end;
	if (!**text)
		return false;
	end = strchrnul(*text, '\n');
	*ret = (struct line){ .at = *text, .len = (size_t)(end - *text) };
	*text = *end ? end + 1 : end;
	return true;
}

static bool line_has(struct line l, const char *part)
{
	return memmem(l.at, l.len, part, strlen(part)) != NULL;
}

static bool line_starts(struct line l, const char *part)
{
	return l.len >= strlen(part) && memcmp(l.at, part, strlen(part)) == 0;
}

static bool is_noise(struct line l)
{
	return l.len == 0 || line_starts(l, "Remark: The warnings can be suppressed") || line_has(l, " detected in the compilation of ") ||
	       line_starts(l, "Compilation terminated.") || line_has(l, "Ptx assembly aborted due to errors");
}

static bool is_error(struct line l)
{
	return line_has(l, ": error") || line_has(l, " error:") || line_has(l, "; error ") || line_has(l, "catastrophic error") ||
	       line_starts(l, "ptxas fatal") || line_starts(l, "ptxas error");
}

/* Where an instruction of the intermediate code comes from. */
struct origin { struct line code; unsigned file, line; /* 0: not told */ };

/* Line `number` of the intermediate code, with the last ".loc FILE LINE COLUMN" before it. */
static bool find_origin(const char *ptx, unsigned number, struct origin *ret)
{
	unsigned file, source, column;
	struct line l;

	*ret = (struct origin){ .file = 0 };
	for (unsigned i = 1; next_line(&ptx, &l); i++) {
		while (l.len && isspace((unsigned char)*l.at))
			l.at++, l.len--;
		if (line_starts(l, ".loc")) {
			char *copy = mem_strn(l.at, l.len);
			if (sscanf(copy, ".loc %u %u %u", &file, &source, &column) == 3)
				ret->file = file, ret->line = source;
			free(copy);
		}
		if (i == number) {
			ret->code = l;
			return true;
		}
	}
	return false;
}

/* The name in '.file NUMBER "NAME"', as fresh text: "device", "macros" or a header's path; NULL when it is not told. NVRTC puts
 * its working directory in front of the regions' names. */
static char *file_name(const char *ptx, unsigned number)
{
	char *want = mem_fmt(".file\t%u \"", number);
	const char *at = strstr(ptx, want), *end, *last;
	char *name = NULL;

	if (at) {
		at += strlen(want);
		end = strpbrk(at, "\"\n");
		name = mem_strn(at, end ? (size_t)(end - at) : strlen(at));
		last = strrchr(name, '/');
		if (last && (strcmp(last, "/device") == 0 || strcmp(last, "/macros") == 0))
			memmove(name, last + 1, strlen(last));
	}
	free(want);
	return name;
}

/* "ptxas application ptx input, line 26; error   : TEXT" becomes "device(3): ptxas error: TEXT in: INSTRUCTION". */
static void add_ptxas(struct line l, const char *ptx, struct buf *out)
{
	char *copy = mem_strn(l.at, l.len), *file = NULL;
	unsigned number;
	char word[16];
	struct origin from;
	int text = 0;

	if (ptx && sscanf(copy, "ptxas application ptx input, line %u; %15s : %n", &number, word, &text) == 2 && text > 0 &&
	    find_origin(ptx, number, &from)) {
		file = file_name(ptx, from.file);
		if (file)
			buf_addf(out, "%s(%u): ", file, from.line);
		buf_addf(out, "ptxas %s: %s in: %.*s\n", word, copy + text, (int)from.code.len, from.code.at);
	} else {
		buf_addf(out, "%s\n", copy);
	}
	free(file);
	free(copy);
}

static void add_line(struct line l, const char *ptx, struct buf *out)
{
	size_t start = out->len;

	if (line_starts(l, "ptxas application ptx input"))
		add_ptxas(l, ptx, out);
	else
		buf_addf(out, "%.*s\n", (int)l.len, l.at);
	/* Source text is quoted as it is; what would confuse a terminal or a JSON reader is not needed for that. */
	for (size_t i = start; i < out->len; i++)
		if (iscntrl((unsigned char)out->data[i]) && out->data[i] != '\n' && out->data[i] != '\t')
			out->data[i] = '?';
}

void cuda_diagnostic_clean(const char *log, const char *ptx, bool errors_only, struct buf *out)
{
	for (int round = 0; round < ROUNDS; round++) {
		const char *at = log;
		struct line l;
		bool wanted = false;

		if (errors_only && round > 0)
			break;
		while (next_line(&at, &l)) {
			if (is_noise(l))
				continue;
			if (!isspace((unsigned char)*l.at))
				wanted = is_error(l) == (round == 0);
			if (wanted)
				add_line(l, ptx, out);
		}
	}
}

bool cuda_diagnostic_is_ptxas(const char *log)
{
	return strstr(log, "ptxas application ptx input") != NULL && strstr(log, "ptxas fatal") != NULL;
}

bool cuda_diagnostic_shared(const char *log, unsigned *ret_asked, unsigned *ret_allowed)
{
	const char *at = strstr(log, "uses too much shared data (");
	return at && sscanf(at, "uses too much shared data (%x bytes, %x max", ret_asked, ret_allowed) == 2;
}

char *cuda_diagnostic_header(const char *log)
{
	const char *at = strstr(log, "open source file \""), *end;

	if (!at)
		return NULL;
	at += strlen("open source file \"");
	end = strchr(at, '"');
	return end ? mem_strn(at, (size_t)(end - at)) : NULL;
}
