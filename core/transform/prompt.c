/* prompt: see prompt.h. The order serves prompt caches: what all steps of a transformation on one device share comes
 * first. */
#include "core/transform/prompt.h"

#include <stdlib.h>
#include <string.h>

#include "base/embedded.h"
#include "base/mem.h"

enum { REGION_MAX = 256 << 10, FRONT_MAX = 32 << 10 };

void prompt_fini(struct prompt *p)
{
	for (size_t i = 0; i < p->count; i++)
		free(p->turns[i].text);
	free(p->turns);
	*p = (struct prompt)PROMPT_INIT;
}

void prompt_add(struct prompt *p, enum prompt_role role, const char *text)
{
	*MEM_PUSH(p->turns, p->count) = (struct prompt_turn){ .role = role, .text = mem_str(text) };
}

void prompt_copy(struct prompt *to, const struct prompt *from)
{
	*to = (struct prompt)PROMPT_INIT;
	for (size_t i = 0; i < from->count; i++)
		prompt_add(to, from->turns[i].role, from->turns[i].text);
}

const char *prompt_role_name(enum prompt_role role)
{
	switch (role) {
	case PROMPT_SYSTEM: return "system";
	case PROMPT_USER: return "user";
	case PROMPT_ASSISTANT: return "assistant";
	}
	return "?";
}

void prompt_render(const struct prompt *p, struct buf *out)
{
	for (size_t i = 0; i < p->count; i++)
		buf_addf(out, "<!-- %s -->\n%s\n", prompt_role_name(p->turns[i].role), p->turns[i].text);
}

struct hash prompt_hash(const struct prompt *p)
{
	struct buf text = BUF_INIT;
	prompt_render(p, &text);
	struct hash h = hash_bytes(buf_text(&text), text.len);
	buf_fini(&text);
	return h;
}

const char *prompt_region_fence(enum region region, const char *backend)
{
	switch (region) {
	case REGION_DEVICE: return backend;
	case REGION_HOST: return "lua host";
	case REGION_MACROS: return "macros";
	case REGION_COUNT: break;
	}
	return "";
}

/* Leaves out bytes that a terminal or a model could mistake for something other than text. */
static void add_clean(struct buf *out, const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)text[i];
		if ((c >= 0x20 && c != 0x7f) || c == '\n' || c == '\t')
			buf_addc(out, (char)c);
	}
}

/* Moves a cut to the start of a character. */
static size_t whole_utf8(const char *text, size_t at)
{
	while (at && ((unsigned char)text[at] & 0xC0) == 0x80)
		at--;
	return at;
}

void prompt_quote(struct buf *out, const char *text, size_t max)
{
	size_t n = strlen(text);
	if (n <= max) {
		add_clean(out, text, n);
		return;
	}
	size_t head = whole_utf8(text, max / 2), tail = whole_utf8(text, n - max / 2);
	add_clean(out, text, head);
	buf_addf(out, "\n[%zu bytes left out here]\n", tail - head);
	add_clean(out, text + tail, n - tail);
}

void prompt_fence(struct buf *out, const char *info, const char *text)
{
	size_t longest = 2, run = 0;
	for (const char *s = text; *s; s++) {
		run = *s == '`' ? run + 1 : 0;
		if (run > longest)
			longest = run;
	}
	char *ticks = mem_new(longest + 2, 1);
	memset(ticks, '`', longest + 1);
	size_t n = strlen(text);
	buf_addf(out, "%s%s\n%s%s%s\n", ticks, info, text, n && text[n - 1] != '\n' ? "\n" : "", ticks);
	free(ticks);
}

static void add_fact(struct buf *out, const char *what, uint64_t value, const char *unit)
{
	if (value)
		buf_addf(out, "- %s: %llu%s\n", what, (unsigned long long)value, unit);
}

/* What makes code fast on this kind of device, in a few lines. */
static void add_device_rules(struct buf *out, const struct facts *f)
{
	int sm = strncmp(f->arch, "sm_", 3) == 0 ? atoi(f->arch + 3) : 0;
	const struct {
		bool here;
		const char *file;
	} rules[] = {
		{ f->shares_cpu, "core/transform/rules/device_cpu.md" },
		{ sm > 0, "core/transform/rules/device_nvidia.md" },
		{ sm >= 80, "core/transform/rules/device_nvidia_80.md" },
		{ sm == 90, "core/transform/rules/device_nvidia_90.md" },
		{ strcmp(f->backend, "hip") == 0, "core/transform/rules/device_amd.md" },
	};
	for (size_t i = 0; i < MEM_COUNT(rules); i++)
		if (rules[i].here)
			buf_adds(out, embedded_file(rules[i].file));
}

static void add_facts(struct buf *out, const struct facts *f)
{
	buf_addf(out, "\n# Device\n\n- %s, target %s\n", f->name, f->arch);
	add_device_rules(out, f);
	add_fact(out, "threads per block (max_threads)", f->max_threads, "");
	if (f->max_block[0])
		buf_addf(out, "- block dimensions: at most %u x %u x %u\n", f->max_block[0], f->max_block[1], f->max_block[2]);
	add_fact(out, "threads in lock-step (warp_size)", f->warp_size, "");
	add_fact(out, "shared memory that a block may declare (shared_static)", f->shared_static, " bytes");
	if (f->shared_optin > f->shared_static)
		add_fact(out, "dynamic shared memory at launch (shared_optin)", f->shared_optin, " bytes");
	add_fact(out, "32-bit registers per block (registers)", f->registers, "");
	add_fact(out, "multiprocessors (units)", f->units, "");
	add_fact(out, "L2 cache (l2_bytes)", f->l2_bytes, " bytes");
}

void prompt_add_system(struct prompt *p, const char *backend, const struct facts *facts)
{
	struct buf text = BUF_INIT;
	char *language = mem_fmt("core/transform/rules/%s.md", backend);
	buf_addf(&text, "%s\n%s\n%s", embedded_file("core/transform/rules/common.md"),
		 embedded_file("core/transform/rules/host.md"), embedded_file(language));
	free(language);
	if (facts)
		add_facts(&text, facts);
	prompt_add(p, PROMPT_SYSTEM, buf_text(&text));
	buf_fini(&text);
}

static bool blank(const char *text)
{
	return text[strspn(text, " \t\r\n")] == '\0';
}

static void add_text_for(struct buf *out, const char *text, const char *backend)
{
	char *ours = transformation_text_for(text, backend);
	if (!blank(ours))
		buf_addf(out, "\n%s", ours);
	free(ours);
}

static void add_transformation(struct buf *out, const struct transformation *t, const char *backend)
{
	buf_addf(out, "# Transformation: %s\n\n%s\n", t->name, t->summary);
	add_text_for(out, t->intro, backend);
	if (t->param_count) {
		buf_adds(out, "\nTuning parameters that it adds (to the front matter, not by you):\n\n");
		for (size_t i = 0; i < t->param_count; i++)
			buf_addf(out, "- %s: %s\n", t->params[i].name, t->params[i].values);
	}
	buf_adds(out, "\nIts passes:\n\n");
	for (size_t i = 0; i < t->pass_count; i++)
		buf_addf(out, "%zu. %s\n", i + 1, t->passes[i].title);
}

/* Removes the first line that begins with these words. */
static void drop_line(char *text, const char *beginning)
{
	for (char *line = text; line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
		char *next = strchr(line, '\n');
		if (strncmp(line, beginning, strlen(beginning)) != 0)
			continue;
		if (next)
			memmove(line, next + 1, strlen(next + 1) + 1);
		else
			*line = '\0';
		return;
	}
}

/* The front matter as the file has it, without the lines around it and without `library:`, which only says what the context is
 * compared with. */
static void add_front(struct buf *out, const struct context *ctx)
{
	const char *file = context_render(ctx), *start = strstr(file, "---\n");
	const char *end = start ? strstr(start + 4, "\n---") : NULL;
	char *front = end ? mem_strn(start + 4, (size_t)(end + 1 - start - 4)) : context_canonical(ctx);
	struct buf clean = BUF_INIT;
	drop_line(front, "library:");
	prompt_quote(&clean, front, FRONT_MAX);
	buf_adds(out, "\n## Front matter\n\n");
	prompt_fence(out, "yaml", buf_text(&clean));
	buf_fini(&clean);
	free(front);
}

static void add_context(struct buf *out, const struct context *ctx, enum region asked)
{
	static const enum region order[] = { REGION_MACROS, REGION_DEVICE, REGION_HOST };
	buf_adds(out, "\n# The kernel context now\n");
	add_front(out, ctx);
	if (context_oracle(ctx)) {
		struct buf clean = BUF_INIT;
		prompt_quote(&clean, context_oracle(ctx), REGION_MAX);
		buf_adds(out,
			 "\n## What its outputs are, in Python: reference() gets the inputs and returns the outputs in order\n\n");
		prompt_fence(out, "python", buf_text(&clean));
		buf_fini(&clean);
	}
	for (size_t i = 0; i < MEM_COUNT(order); i++) {
		struct buf clean = BUF_INIT;
		prompt_quote(&clean, context_region(ctx, order[i]), REGION_MAX);
		buf_addf(out, "\n## %s region%s%s\n\n",
			 order[i] == REGION_MACROS   ? "Macros"
			 : order[i] == REGION_DEVICE ? "Device"
						     : "Host",
			 order[i] == asked ? " (you rewrite this one)" : "", clean.len ? "" : " (empty)");
		prompt_fence(out, prompt_region_fence(order[i], context_backend(ctx)), buf_text(&clean));
		buf_fini(&clean);
	}
}

static size_t count_lines(const char *text)
{
	size_t n = 0;
	for (; *text; text++)
		n += *text == '\n';
	return n;
}

static void add_ask(struct buf *out, const struct transformation_pass *pass, enum region region, const struct context *ctx)
{
	const char *name = context_region_name(region), *info = prompt_region_fence(region, context_backend(ctx));
	buf_addf(out, "\n# Return now\n\nThe whole new %s region, in one fenced block that starts with ```%s\n", name, info);
	if (count_lines(context_region(ctx, region)) > PROMPT_LONG_REGION)
		buf_adds(out, "\nThis region is long: in place of the whole you may return search/replace blocks, each\n\n"
			      "<<<<<<< SEARCH\nwhole lines, exactly as they stand, enough to be unique\n=======\nthe lines "
			      "to put there\n"
			      ">>>>>>> REPLACE\n\nEvery search must match exactly once; all blocks are applied, or none.\n");
	switch (pass->expect) {
	case TRANSFORMATION_NONE: buf_adds(out, "\nAfter this pass nothing is compiled yet; the next passes complete it.\n"); break;
	case TRANSFORMATION_COMPILES:
		buf_adds(out, "\nAfter the last step of this pass the context must compile and launch; its results are "
			      "not looked at yet.\n");
		break;
	case TRANSFORMATION_VALID:
		buf_adds(out, "\nAfter the last step of this pass the context must compile, launch and give right "
			      "results.\n");
		break;
	}
}

static void add_step(struct buf *out, const struct transformation *t, size_t pass, size_t step, const char *backend)
{
	const struct transformation_pass *p = &t->passes[pass];
	buf_addf(out, "\n# Now: pass %zu of %zu, %s\n", pass + 1, t->pass_count, p->title);
	add_text_for(out, p->text, backend);
	buf_addf(out, "\n## Step %zu of %zu: the %s region\n", step + 1, p->step_count, context_region_name(p->steps[step].region));
	add_text_for(out, p->steps[step].text, backend);
	for (size_t i = step + 1; i < p->step_count; i++) {
		buf_addf(out, "\nNot now, but next in this pass, the %s region will be changed like this:\n",
			 context_region_name(p->steps[i].region));
		add_text_for(out, p->steps[i].text, backend);
	}
}

void prompt_start(struct prompt *p, const struct transformation *t, size_t pass, size_t step, const struct context *ctx,
		  const struct facts *facts, const char *profile)
{
	const char *backend = context_backend(ctx);
	const struct transformation_pass *here = &t->passes[pass];
	struct buf text = BUF_INIT;
	prompt_add_system(p, backend, facts);
	add_transformation(&text, t, backend);
	add_step(&text, t, pass, step, backend);
	add_context(&text, ctx, here->steps[step].region);
	if (profile)
		buf_addf(&text,
			 "\n# What is known of this kernel\n\n%s\nThe transformation above decides what to do; this says where it "
			 "must "
			 "pay.\n",
			 profile);
	add_ask(&text, here, here->steps[step].region, ctx);
	prompt_add(p, PROMPT_USER, buf_text(&text));
	buf_fini(&text);
}

static void offer(struct prompt *p, const char *file)
{
	struct prompt_turn *last = &p->turns[p->count - 1];
	char *both = mem_fmt("%s%s", last->text, embedded_file(file));
	free(last->text);
	last->text = both;
}

void prompt_offer_host(struct prompt *p)
{
	offer(p, "core/transform/rules/launch.md");
}

void prompt_offer_plan(struct prompt *p)
{
	offer(p, "core/transform/rules/plan.md");
}
