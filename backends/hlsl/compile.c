/* compile: see hlsl.h. Every kernel is compiled from the same text with another entry point; glslang drops what that
 * entry point does not reach, so its module holds only what it uses. */
#include "backends/hlsl/hlsl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/gpu/gpu.h"
#include "backends/hlsl/glslang.h"
#include "backends/values/immediates.h"
#include "base/clock.h"
#include "base/mem.h"

/* One compilation under way. */
struct job {
	const struct wire_compile *request;
	struct buf source; /* the lines of the regions count from 1 under the regions' names */
	bool half;         /* the source needs true 16-bit types */
	struct hlsl_object object;
	struct wire_compiled out;
	struct buf log;
	bool probed; /* something was made free */
};

/* --- the front end's text ----------------------------------------------------------------------------------------- */

static bool starts(const char *s, const char *with)
{
	return strncmp(s, with, strlen(with)) == 0;
}

/* Lines that add nothing to the others, or that the parser writes when it gives up on a line it has already reported. */
static bool is_noise(const char *line)
{
	static const char *const noise[] = { "compilation errors", "HLSL parsing failed", "'declaration' : Expected",
					     "'expression' : Expected", "'assignment expression' : Expected" };

	for (size_t i = 0; i < MEM_COUNT(noise); i++)
		if (strstr(line, noise[i]))
			return true;
	return line[0] == '\0';
}

/* glslang's "device:5: 'X' : Expected " becomes "device:5: expected X", all else "device:5: X: unknown variable". free() */
static char *reword(const char *line)
{
	int start = 0;
	const char *open = sscanf(line, "%*[a-z]:%*u: %n", &start) >= 0 && start ? line + start : NULL;
	const char *middle = open && *open == '\'' ? strstr(open, "' : ") : NULL;
	if (middle == NULL)
		return mem_str(line);
	const char *what = middle + 4;
	int n = (int)(middle - open - 1), end = (int)strlen(what);
	while (end > 0 && what[end - 1] == ' ')
		end--;
	if (end == 8 && starts(what, "Expected"))
		return mem_fmt("%.*sexpected %.*s before this, or on the line above", start, line, n, open + 1);
	return mem_fmt("%.*s%.*s: %.*s", start, line, n, open + 1, end, what);
}

/* Whether the text has an error of this line's place already: what follows is a consequence. */
static bool has_place(const struct buf *out, const char *line)
{
	int start = 0;
	if (sscanf(line, "%*[a-z]:%*u:%n", &start) < 0 || start == 0)
		return false;
	char *place = mem_fmt("\n%.*s", start, line);
	bool has = starts(buf_text(out), place + 1) || strstr(buf_text(out), place);
	free(place);
	return has;
}

/* Appends a line that the text does not have yet, and below it the source line that it is about. */
static void add_once(struct buf *out, const struct wire_compile *request, const char *line)
{
	char *whole = mem_fmt("\n%s", line), *source = NULL, file[16];
	unsigned number;
	if (line[0] && strstr(buf_text(out), whole) == NULL && !starts(buf_text(out), line)) {
		if (sscanf(line, "%15[a-z]:%u:", file, &number) == 2)
			source = gpu_diagnostic_source(request, file, number);
		buf_adds(out, out->len ? whole : line);
		if (source)
			buf_addf(out, "\n  %s", source);
	}
	free(source);
	free(whole);
}

/* Appends the lines with (or without) "ERROR:", each once, without glslang's prefixes, and one error a place. */
static void add_lines(struct buf *out, const struct wire_compile *request, const char *log, bool errors, bool noise)
{
	char *line;
	while ((line = gpu_diagnostic_line(&log))) {
		bool prefixed = starts(line, "ERROR: ") || starts(line, "WARNING: ");
		const char *bare = prefixed ? strchr(line, ' ') + 1 : line;
		char *plain = reword(bare);
		if (starts(line, "ERROR:") == errors && (noise || !is_noise(line)) && !(errors && has_place(out, bare)))
			add_once(out, request, plain);
		free(plain);
		free(line);
	}
}

/* Where the parser gave up, which it writes in a form of its own. */
static void add_stop(struct buf *out, const struct wire_compile *request, const char *log)
{
	char *line, file[16];
	unsigned number, column;
	while ((line = gpu_diagnostic_line(&log))) {
		bool stop = sscanf(line, "%15[a-z](%u): error at column %u", file, &number, &column) == 3;
		char *said = stop ? mem_fmt("%s:%u: syntax error at column %u", file, number, column) : NULL;
		if (stop)
			add_once(out, request, said);
		free(said);
		free(line);
	}
}

static bool is_name(const char *text, const char *name, size_t n)
{
	return text && strlen(text) == n && memcmp(text, name, n) == 0;
}

/* Whether an array has this name, or a launch passes a value of it. */
static bool is_known(const struct plan *plan, const char *name, size_t n)
{
	for (size_t i = 0; i < plan->buffer_count; i++)
		if (is_name(plan->buffers[i].name, name, n))
			return true;
	for (size_t i = 0; i < plan->op_count; i++) {
		const struct plan_launch *l = &plan->ops[i].launch;
		for (size_t k = 0; plan->ops[i].kind == PLAN_OP_LAUNCH && k < l->arg_count; k++)
			if (is_name(l->args[k].name, name, n))
				return true;
	}
	return false;
}

/* A name that is declared nowhere may be an input that host code forgot to pass. */
static void add_passed(struct buf *out, const struct wire_compile *request, const struct plan_launch *launch)
{
	struct buf said = BUF_INIT;
	buf_adds(&said, "host code passes this kernel ");
	for (size_t k = 0; k < launch->arg_count; k++)
		buf_addf(&said, "%s%s", k ? ", " : "", launch->args[k].name);
	buf_adds(&said, launch->arg_count ? ": pass what else it uses, or declare it" : "nothing: pass what it uses");
	add_once(out, request, buf_text(&said));
	buf_fini(&said);
}

static int refused(const struct wire_compile *request, const struct plan_launch *launch, const char *log, struct err *e)
{
	struct buf text = BUF_INIT;
	add_lines(&text, request, log, true, false);
	if (text.len == 0)
		add_stop(&text, request, log);
	if (text.len == 0) /* nothing but what is usually noise */
		add_lines(&text, request, log, true, true);
	add_lines(&text, request, log, false, false);
	const char *unknown = strstr(log, "' : unknown variable"), *name = unknown;
	while (name && name > log && name[-1] != '\'')
		name--;
	if (unknown && is_known(request->plan, name, (size_t)(unknown - name)))
		add_once(&text, request,
			 "for each launch, all kernels of the code are compiled with the names of what that launch passes: "
			 "pass each launch what any kernel uses");
	else if (unknown)
		add_passed(&text, request, launch);
	int rc = err_set(e, ERR_COMPILE, "kernel %s:\n%s", launch->kernel, buf_text(&text));
	buf_fini(&text);
	return rc;
}

/* --- kernels ------------------------------------------------------------------------------------------------------ */

/* Of several kernels, those that have nothing of what is made free stay as they are. */
static int probe_kernel(struct job *j, const struct plan_launch *launch, struct glslang_output *o, struct err *e)
{
	struct err none = ERR_INIT;
	int rc = hlsl_probe((enum wire_probe)j->request->probe, j->request->plan, launch, &o->words, &o->word_count, &none);
	if (rc < 0 && none.code == ERR_UNSUPPORTED)
		return 0;
	j->probed = true;
	if (rc < 0)
		*e = none;
	return rc < 0 ? rc : hlsl_spirv_validate(o->words, o->word_count, e);
}

static int compile_kernel(struct job *j, const struct plan_launch *launch, struct err *e)
{
	const char *name = launch->kernel;
	struct glslang_output o;
	bool good = hlsl_glslang(buf_text(&j->source), name, j->half, &o);
	int rc = 0;
	if (good) {
		/* glslang makes inclusive sums of WavePrefixSum and WavePrefixProduct, which are exclusive, and a floored remainder
		 * of fmod and %, which truncate ("HLSL reference", learn.microsoft.com). HLSL has none of what it writes. */
		enum { FLOORED = 141, TRUNCATED = 140, FIRST_SCAN = 349, LAST_SCAN = 352, INCLUSIVE = 1, EXCLUSIVE = 2 };
		for (size_t at = SPIRV_HEADER, n; (n = hlsl_spirv_length(o.words, o.word_count, at)) > 0; at += n) {
			uint32_t op = o.words[at] & 0xFFFF;
			if (op == FLOORED)
				o.words[at] = (uint32_t)n << 16 | TRUNCATED;
			else if (op >= FIRST_SCAN && op <= LAST_SCAN && n > 4 && o.words[at + 4] == INCLUSIVE)
				o.words[at + 4] = EXCLUSIVE;
		}
	}
	if (strstr(o.log, "Entry point not found"))
		rc = err_set(
			e, ERR_COMPILE,
			"the device code has no function %s, which host code launches: launch one of its functions, or write it",
			name);
	else if (!good)
		rc = refused(j->request, launch, o.log, e);
	else if (hlsl_spirv_validate(o.words, o.word_count, e) < 0)
		rc = err_wrap(e, "kernel %s", name);
	else if (j->request->probe)
		rc = probe_kernel(j, launch, &o, e);
	if (rc < 0) {
		free(o.words);
	} else {
		add_lines(&j->log, j->request, o.log, false, false);
		*MEM_PUSH(j->object.kernels, j->object.count) =
			(struct hlsl_kernel){ .name = mem_str(name), .words = o.words, .bytes = o.word_count * sizeof *o.words };
	}
	free(o.log);
	return rc;
}

/* Compiles the launched kernel unless an earlier launch did, and checks the launch. */
static int compile_launch(struct job *j, const struct plan_launch *launch, struct err *e)
{
	const struct hlsl_kernel *k = hlsl_object_find(&j->object, launch->kernel);
	bool fresh = k == NULL;
	struct spirv s;
	if (fresh && compile_kernel(j, launch, e) < 0)
		return -(int)e->code;
	k = hlsl_object_find(&j->object, launch->kernel);
	if (hlsl_spirv_read(k->words, k->bytes / sizeof *k->words, &s, e) < 0)
		return -(int)e->code;
	if (fresh)
		hlsl_spirv_immediates(&s, &j->out.immediates);
	if (fresh)
		*MEM_PUSH(j->out.kernels, j->out.kernel_count) = (struct wire_kernel){
			.name = mem_str(k->name),
			.registers = UINT32_MAX,
			.spill = UINT32_MAX,
			.shared = s.shared,
			.max_threads = s.block[0] * s.block[1] * s.block[2],
			.block = { s.block[0], s.block[1], s.block[2] },
		};
	int rc = hlsl_bind_check(j->request->plan, launch, &s, e);
	hlsl_spirv_fini(&s);
	return rc;
}

int hlsl_compile(const struct wire_compile *request, struct wire_compiled *ret_compiled, struct err *e)
{
	struct job j = { .request = request };
	struct buf binary = BUF_INIT;
	int64_t start = clock_now();
	int rc = 0;
	if (strcmp(request->arch, FACTS_ARCH) != 0)
		return err_set(e, ERR_UNSUPPORTED, "hlsl compiles for %s only, not for \"%s\"", FACTS_ARCH, request->arch);
	if (request->option_count)
		return err_set(e, ERR_INPUT, "the HLSL front end takes no options (\"%s\" given); remove them from the context",
			       request->options[0]);
	for (size_t i = 0; i < request->define_count; i++)
		buf_addf(&j.source, "#define %s %s\n", request->defines[i].name, request->defines[i].value);
	buf_adds(&j.source, "#line 1 \"arguments\"\n");
	rc = hlsl_bind_declare(request, &j.source, &j.half, e);
	buf_addf(&j.source, "#line 1 \"macros\"\n%s\n#line 1 \"device\"\n%s\n", request->macros, request->device);
	for (size_t i = 0; i < request->plan->op_count && rc == 0; i++)
		if (request->plan->ops[i].kind == PLAN_OP_LAUNCH)
			rc = compile_launch(&j, &request->plan->ops[i].launch, e);
	if (rc == 0 && request->probe && !j.probed)
		rc = err_set(e, ERR_UNSUPPORTED, "it has none");
	if (rc == 0) {
		immediates_finish(&j.out.immediates);
		hlsl_object_encode(&j.object, &binary);
		j.out.binary_len = binary.len;
		j.out.binary = (uint8_t *)buf_steal(&binary);
		j.out.log = buf_steal(&j.log);
		j.out.compile_ns = (uint64_t)(clock_now() - start);
		*ret_compiled = j.out;
	} else {
		wire_compiled_fini(&j.out);
	}
	hlsl_object_fini(&j.object);
	buf_fini(&j.source);
	buf_fini(&j.log);
	return rc;
}
