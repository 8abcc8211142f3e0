/* prompts: the usual ways of working, as texts that a person picks in a client and a model then follows with peakd's tools:
 * from a kernel's source to a validated baseline, one optimisation step, and a transformation that the model itself writes.
 * Called by mcp/ through the table. */

#include <stdlib.h>

#include "base/mem.h"
#include "daemon/tools/tools.h"

/* An argument, or what stands for one that was not given. */
static const char *or_else(const struct mcp_call *call, const char *key, const char *fallback)
{
	const char *text = tools_text(call, key);
	return text && *text ? text : fallback;
}

static const struct mcp_done *say(struct mcp_call *call, char *take_text, const char *description)
{
	json_t *message = json_pack("{s:s, s:{s:s, s:s}}", "role", "user", "content", "type", "text", "text", take_text);
	free(take_text);
	return mcp_call_reply_messages(call, json_pack("[o]", message), description);
}

static const struct mcp_done *start_from_kernel(struct mcp_call *call)
{
	return say(
		call,
		mem_fmt("Turn this kernel into a peakd kernel context and prove it as a baseline. Backend: %s.\n\n"
			"1. Read the resource peak://docs/context-format (or call context_create and let its error messages guide "
			"you).\n"
			"2. Write the context: front matter (kernel, backend, inputs with sizes worth timing, tune, where, check: "
			"with odd and small "
			"sizes, flops), the device code as it is, and the launch as Lua host code. Change no arithmetic.\n"
			"3. Call context_create with it; correct what it complains of.\n"
			"4. Call devices, then validate, then tune, on the device that fits; follow jobs with job (action wait).\n"
			"5. Call transformations and say which one you would try first, and why. Report the baseline's time and "
			"GFLOP/s as "
			"`workflow log` shows them, never from memory.\n\nThe kernel (its source, or where it is):\n\n%s\n",
			or_else(call, "backend", "the one that the source is written for"), or_else(call, "kernel", "")),
		"From a kernel's source to a validated, tuned baseline");
}

static const struct mcp_done *optimize_step(struct mcp_call *call)
{
	return say(
		call,
		mem_fmt("Make workflow \"%s\" faster with peakd, one step at a time. Goal: %s. Device: %s.\n\n"
			"1. `workflow` with action log shows what was done and what it brought; action show with what: source "
			"shows the head.\n"
			"2. Call profile with probes: true. `class` says what limits the kernel, `guidance` what to try, the most "
			"promising first; `probes` measure what free loads, stores or barriers would bring. Where they disagree, the "
			"probes are right. Near a roof (over 80 %%) only less work helps.\n"
			"3. Choose one change that attacks this, and say why. Either edit the head yourself (edit, with region and text), or "
			"have a transformation applied: a name from guidance or transformations, or a sentence of your own (transform; "
			"transform_begin and transform_submit when no model is configured).\n"
			"4. When the new checkpoint is valid, tune it: the answer's `compared` says how many times as fast it is, "
			"timed in pairs, with the interval. Divide no times yourself. Where it says unclear, call compare with a: the "
			"parent and b: the new one.\n"
			"5. Slower or no faster: `workflow` with action restore puts the head back. Say what was learned, and go on with the "
			"next guidance until the goal is met or nothing is left. Quote only times that tune measured and validate "
			"passed.\n",
			or_else(call, "workflow", ""), or_else(call, "goal", "the lowest median time at the declared sizes"),
			or_else(call, "device", "the first that runs the workflow's backend, as `devices` lists it")),
		"Profile, choose, change, compare, keep or restore");
}

static const struct mcp_done *be_the_model(struct mcp_call *call)
{
	return say(call,
		   mem_fmt("Carry out the transformation \"%s\" on workflow \"%s\" yourself: you are the model.\n\n"
			   "1. Call transform_begin with at: \"%s\". It answers with `pending` and `prompt`: rules, the "
			   "transformation, and the region.\n"
			   "2. Follow that prompt to the letter and call transform_submit with `pending` and `answer`: the WHOLE "
			   "new region in one fenced "
			   "block, nothing left out.\n"
			   "3. result.state says what is next: waiting (result.prompt is the next step, or the repair of an error: "
			   "answer it the same "
			   "way), accepted (result.checkpoint is the new, validated checkpoint), given-up (say why it failed and "
			   "stop).\n"
			   "4. When accepted, tune the workflow and show `workflow` log.\n",
			   or_else(call, "transformation", ""), or_else(call, "workflow", ""), or_else(call, "workflow", "")),
		   "transform_begin and transform_submit, step by step");
}

static const struct mcp_prompt_argument kernel_arguments[] = {
	{ "kernel", "The kernel's source, or a file to read", 1 },
	{ "backend", "cuda, hip or hlsl", 0 },
	{ NULL, NULL, 0 },
};

static const struct mcp_prompt_argument step_arguments[] = {
	{ "workflow", "The workflow to advance", 1 },
	{ "goal", "What to aim for (default: the lowest median time)", 0 },
	{ "device", "As `devices` lists it", 0 },
	{ NULL, NULL, 0 },
};

static const struct mcp_prompt_argument model_arguments[] = {
	{ "workflow", "The workflow to advance", 1 },
	{ "transformation", "A name from `transformations`, or a sentence", 1 },
	{ NULL, NULL, 0 },
};

const struct mcp_prompt prompts_table[] = {
	{ "start-from-kernel", "Start from a kernel", "Turns a kernel into a context, proves it and times it as the baseline",
	  kernel_arguments, start_from_kernel },
	{ "optimize-step", "One step faster", "Profiles, chooses a change by what limits the kernel, applies, tunes and compares it",
	  step_arguments, optimize_step },
	{ "be-the-model", "Be the model", "Carries a transformation out without a configured model: you write the regions",
	  model_arguments, be_the_model },
	{ NULL, NULL, NULL, NULL, NULL },
};
