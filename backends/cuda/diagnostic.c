/* diagnostic: see cuda.h. A message of NVRTC starts in the first column ("device(12): error: …"); the lines that quote
 * the source behind it are indented. */
#include "backends/cuda/cuda.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static bool has_any(const char *line, const char *const *parts, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strstr(line, parts[i]))
			return true;
	return false;
}

/* Line `number` of the intermediate code as fresh text, with the file and line of the last ".loc FILE LINE COLUMN" before it
 * (0: none). NULL when there is no such line. */
static char *find_instruction(const char *ptx, unsigned number, unsigned *ret_file, unsigned *ret_line)
{
	unsigned file, source, column;
	char *line;

	*ret_file = *ret_line = 0;
	for (unsigned i = 1; (line = gpu_diagnostic_line(&ptx)); i++) {
		size_t blanks = strspn(line, " \t");
		if (sscanf(line + blanks, ".loc %u %u %u", &file, &source, &column) == 3)
			*ret_file = file, *ret_line = source;
		if (i == number) {
			memmove(line, line + blanks, strlen(line + blanks) + 1);
			return line;
		}
		free(line);
	}
	return NULL;
}

/* The name in '.file NUMBER "NAME"', as fresh text: "device", "macros" or a header's path; NULL when it is not there. NVRTC
 * puts its working directory in front of the regions' names. */
static char *file_name(const char *ptx, unsigned number)
{
	char *want = mem_fmt(".file\t%u \"", number);
	const char *at = strstr(ptx, want), *last;
	char *name = NULL;

	if (at) {
		at += strlen(want);
		name = mem_strn(at, strcspn(at, "\"\n"));
		last = strrchr(name, '/');
		if (last && (strcmp(last, "/device") == 0 || strcmp(last, "/macros") == 0))
			memmove(name, last + 1, strlen(last));
	}
	free(want);
	return name;
}

/* "ptxas application ptx input, line 26; error   : TEXT" becomes "device(3): ptxas error: TEXT in: INSTRUCTION" and the
 * source line. */
static char *explain_ptxas(const char *line, const char *ptx, const struct wire_compile *request)
{
	char *instruction, *file, *source, *text;
	unsigned number, from_file, from_line;
	char word[16];
	int at = 0;

	if (!ptx || sscanf(line, "ptxas application ptx input, line %u; %15s : %n", &number, word, &at) != 2 || at == 0 ||
	    !(instruction = find_instruction(ptx, number, &from_file, &from_line)))
		return mem_str(line);
	file = file_name(ptx, from_file);
	source = file ? gpu_diagnostic_source(request, file, from_line) : NULL;
	if (file)
		text = mem_fmt("%s(%u): ptxas %s: %s in: %s%s%s", file, from_line, word, line + at, instruction,
			       source ? "\n  " : "", source ? source : "");
	else
		text = mem_fmt("ptxas %s: %s in: %s", word, line + at, instruction);
	free(source);
	free(file);
	free(instruction);
	return text;
}

void cuda_diagnostic_clean(const char *log, const char *ptx, const struct wire_compile *request, bool errors_only, struct buf *out)
{
	static const char *const noise[] = { "Remark: The warnings can be suppressed", " detected in the compilation of ",
					     "Compilation terminated.", "Ptx assembly aborted due to errors" };
	static const char *const errors[] = {
		": error", " error:", "; error ", "catastrophic error", "ptxas fatal", "ptxas error"
	};
	struct gpu_messages messages = { .list = NULL };
	char *line;

	while ((line = gpu_diagnostic_line(&log))) {
		if (!*line || has_any(line, noise, MEM_COUNT(noise))) {
			free(line);
		} else if (isspace((unsigned char)*line)) {
			gpu_diagnostic_add(&messages, GPU_CONTINUES, line);
		} else {
			enum gpu_severity severity = has_any(line, errors, MEM_COUNT(errors)) ? GPU_ERROR : GPU_WARNING;
			bool ptxas = strncmp(line, "ptxas application ptx input", strlen("ptxas application ptx input")) == 0;
			gpu_diagnostic_add(&messages, severity, ptxas ? explain_ptxas(line, ptx, request) : mem_str(line));
			free(line);
		}
	}
	gpu_diagnostic_print(&messages, errors_only, out);
	gpu_diagnostic_fini(&messages);
}
