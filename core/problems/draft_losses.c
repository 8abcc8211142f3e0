/* draft_losses: what a file does and its draft does not, each with its line: a draft without this list would be silently wrong. The
 * file is read by its form, as everywhere in draft; a construct in the list may turn out harmless, but none is left out. See
 * drafting.h. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "core/problems/drafting.h"

/* Calls that the draft cannot express. A name that ends in '*' is a prefix. */
static const struct loss {
	const char *name, *what;
} calls[] = {
	{ "cudaMemset*", "sets memory; add memset(…) to the host code if the kernels need it" },
	{ "hipMemset*", "sets memory; add memset(…) to the host code if the kernels need it" },
	{ "cuMemset*", "sets memory; add memset(…) to the host code if the kernels need it" },
	{ "cudaMemcpyToSymbol*", "fills a __constant__ or __device__ variable, which keeps its initial value in the draft" },
	{ "hipMemcpyToSymbol*", "fills a __constant__ or __device__ variable, which keeps its initial value in the draft" },
	{ "cudaLaunchKernel*", "launches a kernel in a form that is not read; write it as NAME<<<grid, block>>>(…)" },
	{ "cudaLaunchCooperativeKernel*", "launches a kernel in a form that is not read; write it as NAME<<<grid, block>>>(…)" },
	{ "cuLaunchKernel*", "launches a kernel in a form that is not read; write it as NAME<<<grid, block>>>(…)" },
	{ "hipLaunchKernel*", "launches a kernel in a form that is not read; write it as NAME<<<grid, block>>>(…)" },
	{ "hipLaunchCooperativeKernel*", "launches a kernel in a form that is not read; write it as NAME<<<grid, block>>>(…)" },
	{ "hipModuleLaunchKernel*", "launches a kernel in a form that is not read; write it as NAME<<<grid, block>>>(…)" },
	{ "cudaGraphLaunch*", "launches a graph" },
	{ "hipGraphLaunch*", "launches a graph" },
	{ "cudaCreateTextureObject*", "makes a texture, which contexts do not have" },
	{ "hipCreateTextureObject*", "makes a texture, which contexts do not have" },
	{ "cudaBindTexture*", "makes a texture, which contexts do not have" },
	{ "cublas*", "calls a library" },
	{ "cudnn*", "calls a library" },
	{ "cusparse*", "calls a library" },
	{ "cufft*", "calls a library" },
	{ "curand*", "calls a library" },
	{ "cusolver*", "calls a library" },
	{ "hipblas*", "calls a library" },
	{ "rocblas*", "calls a library" },
	{ "miopen*", "calls a library" },
	{ "thrust", "calls a library" },
	{ "cub", "calls a library" },
	{ "hipcub", "calls a library" },
};

static bool matches(const struct token *t, const char *name)
{
	size_t n = strlen(name);
	return name[n - 1] == '*' ? t->len >= n - 1 && strncmp(t->at, name, n - 1) == 0 : draft_token_is(t, name);
}

/* The statement or block that a `for (…)`, `while (…)`, `if (…)`, `switch (…)`, `do` or `else` at i governs. */
static struct source_range governed(const struct tokens *t, size_t i)
{
	size_t from = i + 1;
	if (from < t->count && draft_token_is(&t->at[from], "("))
		from = draft_tokens_close(t, from, t->count);
	if (from >= t->count)
		return (struct source_range){ t->count, t->count };
	if (draft_token_is(&t->at[from], "{"))
		return (struct source_range){ from, draft_tokens_close(t, from, t->count) };
	/* A nested statement without braces ends where the inner one does. */
	static const char *const nested[] = { "for", "while", "if", "switch", "do" };
	for (size_t k = 0; k < MEM_COUNT(nested); k++)
		if (draft_token_is(&t->at[from], nested[k]))
			return (struct source_range){ from, governed(t, from).to };
	return (struct source_range){ from, draft_tokens_find(t, from, t->count, ";") };
}

/* Notes a loop or condition around the launch at `launch`, the one nearest to it of either kind. */
static void note_control(struct drafting *d, size_t launch, const char *kernel)
{
	static const struct {
		const char *word, *what;
	} words[] = {
		{ "for", "loop" },     { "while", "loop" },     { "do", "loop" },
		{ "if", "condition" }, { "else", "condition" }, { "switch", "condition" },
	};
	const struct tokens *t = &d->source.tokens;
	size_t loop = t->count, condition = t->count;
	for (size_t i = 0; i < launch; i++)
		for (size_t k = 0; k < MEM_COUNT(words); k++)
			if (t->at[i].kind == TOKEN_NAME && draft_token_is(&t->at[i], words[k].word)) {
				struct source_range body = governed(t, i);
				if (launch >= body.from && launch < body.to)
					*(strcmp(words[k].what, "loop") == 0 ? &loop : &condition) = i;
			}
	if (loop < t->count)
		draft_note(d, "line %u: not in the draft: the loop around the launch of %s, which runs once there",
			   draft_source_line(&d->source, loop), kernel);
	if (condition < t->count)
		draft_note(d, "line %u: not in the draft: the condition around the launch of %s, which always runs there",
			   draft_source_line(&d->source, condition), kernel);
}

static void note_launches(struct drafting *d)
{
	const struct source *s = &d->source;
	const struct tokens *t = &s->tokens;
	bool *launched = MEM_NEW_N(bool, s->kernel_count + 1);
	for (size_t i = 1; i < t->count; i++) {
		if (!draft_token_is(&t->at[i], "<<<"))
			continue;
		size_t k = 0;
		while (k < s->kernel_count && !draft_token_is(&t->at[i - 1], s->kernels[k].name))
			k++;
		launched[k] = true;
		if (k == s->kernel_count)
			draft_note(d, "line %u: not in the draft: a launch of %s, which this file does not define",
				   draft_source_line(s, i), t->at[i - 1].kind == TOKEN_NAME ? "another kernel" : "a template");
		else
			note_control(d, i, s->kernels[k].name);
	}
	for (size_t k = 0; k < s->kernel_count && s->launch_count; k++)
		if (!launched[k])
			draft_note(d, "line %u: not in the draft: kernel %s, which no launch that was read uses",
				   draft_source_line(s, s->kernels[k].body.from), s->kernels[k].name);
	free(launched);
}

static void note_calls(struct drafting *d)
{
	const struct source *s = &d->source;
	const struct tokens *t = &s->tokens;
	for (size_t i = 0; i + 1 < t->count; i++) {
		const struct token *x = &t->at[i];
		bool call = draft_token_is(x + 1, "(") || draft_token_is(x + 1, "::") || draft_token_is(x + 1, "<");
		if (x->kind == TOKEN_DIRECTIVE && memmem(x->at, x->len, "<<<", 3))
			draft_note(d, "line %u: not in the draft: a launch in a macro; write it where it is used",
				   draft_source_line(s, i));
		if (x->kind != TOKEN_NAME || !call)
			continue;
		/* Of std::less the namespace matters, and of cub::x::y only the first name. */
		if (i > 0 && draft_token_is(x - 1, "::"))
			continue;
		if (x->len > 6 && strncmp(x->at, "atomic", 6) == 0)
			draft_note(d,
				   "line %u: %.*s adds to memory: results may depend on the order, and its array needs its "
				   "starting values (= zeros)",
				   draft_source_line(s, i), (int)x->len, x->at);
		for (size_t k = 0; k < MEM_COUNT(calls) && !draft_token_is(x - (i > 0), "."); k++)
			if (matches(x, calls[k].name)) {
				draft_note(d, "line %u: not in the draft: %.*s(…) %s", draft_source_line(s, i), (int)x->len, x->at,
					   calls[k].what);
				break;
			}
	}
}

void draft_losses(struct drafting *d)
{
	note_launches(d);
	note_calls(d);
	/* Copies between device buffers, by their direction; the other directions are inputs and results. */
	static const char *const directions[] = { "cudaMemcpyDeviceToDevice", "hipMemcpyDeviceToDevice" };
	const struct tokens *t = &d->source.tokens;
	for (size_t i = 0; i < t->count; i++)
		for (size_t k = 0; k < MEM_COUNT(directions); k++)
			if (draft_token_is(&t->at[i], directions[k]))
				draft_note(d,
					   "line %u: not in the draft: a copy between device buffers; add copy(…) to the host code "
					   "if the kernels need it",
					   draft_source_line(&d->source, i));
}
