/* prompts: the usual ways of working, as texts that a person picks in a client and a model then follows with peakd's tools:
 * from a kernel's source to a validated baseline, one optimisation step, and a transformation that the model itself writes.
 * Called by mcp/ through the table. */

#include <stdlib.h>

#include "base/embedded.h"
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
		mem_fmt("Turn this kernel into a peakd kernel context and validate and time it as the baseline. Backend: %s.\n\n"
			"1. Read the resource peak://docs/context-format (or call context_create and let its error messages guide "
			"you).\n"
			"2. Write the context: front matter, the device code as it is, and the launch as Lua host code. The front "
			"matter has kernel, backend, inputs with sizes worth timing, tune, where, check: with odd and small sizes, "
			"and flops. Change no arithmetic.\n"
			"3. Call context_create with it, and correct the errors that it names.\n"
			"4. Call tune on the device that fits (devices lists them): it validates what it times. Follow jobs with "
			"job (action wait).\n"
			"5. Continue with the prompt optimize-step. Report the baseline's time and GFLOP/s as `workflow log` shows "
			"them, never from memory.\n\nThe kernel (its source, or where it is):\n\n%s\n",
			or_else(call, "backend", "the one of the source"), or_else(call, "kernel", "")),
		"From a kernel's source to a validated, tuned baseline");
}

static const struct mcp_done *optimize_step(struct mcp_call *call)
{
	const char *workflow = or_else(call, "workflow", "");
	return say(call,
		   mem_fmt("Make workflow \"%s\" faster with peakd, one step at a time. Goal: %s. Device: %s.\n\n"
			   "0. Once: tune the baseline, if `workflow` {action: log, name: \"%s\"} shows no best time. {action: "
			   "show, at: \"%s\", what: source} shows the head, if you have not written it yourself.\n"
			   "1. profile {at: \"%s\"}: `class` says what limits the head. `guidance` says what to try, the most "
			   "promising first. Near a roof (over 80 %%) only less work helps. probes: true measures the gain from "
			   "free loads, stores or barriers. If it disagrees with the guidance, trust the probes.\n"
			   "2. Choose one change that attacks this, and say why. Take a large one first: the work of a thread, how "
			   "often data is loaded, the number of passes and barriers.\n"
			   "3. edit {at: \"%s\", keep: \"faster\", source: ...} with only the changed parts. These are a device "
			   "fence, a ```lua host fence when the launch changes, and front matter (--- lines) with tune: or where: "
			   "when parameters change. This one call validates, tunes, times the winner in pairs with the head, and "
			   "keeps it as the head or takes it back. If it answers with a running job's id, call job {action: wait}. "
			   "A named transformation is applied by transform (or transform_begin and transform_submit); then tune "
			   "{keep: \"faster\"} does the same.\n"
			   "4. Read the answer: an error names the line and what to do; `wrong` shows elements; `kept` gives the "
			   "speed-up with its interval. Divide no times yourself.\n"
			   "5. If kept, continue with 1 or with the next idea. If not, say what was learned and take the next "
			   "guidance. Stop at the goal, near a roof, or when three ideas in a row bring nothing. Quote only times "
			   "that tune measured.\n\n%s",
			   workflow, or_else(call, "goal", "the lowest median time at the declared sizes"),
			   or_else(call, "device", "the first that runs the workflow's backend, as `devices` lists it"), workflow,
			   workflow, workflow, workflow, embedded_file("daemon/tools/on-a-cpu.md")),
		   "Profile, choose, edit, compare in pairs, keep or take back");
}

static const struct mcp_done *be_the_model(struct mcp_call *call)
{
	return say(
		call,
		mem_fmt("Apply the transformation \"%s\" on workflow \"%s\" yourself: you are the model.\n\n"
			"1. Call transform_begin with at: \"%s\". It answers with the id (`pending`) and the prompt: rules, "
			"transformation and region.\n"
			"2. Follow that prompt to the letter. Call transform_submit with `pending` and `answer`: the WHOLE new "
			"region in one fenced block, nothing left out.\n"
			"3. `state` says what is next. waiting: the text is the next step, or the repair of an error. Answer it "
			"the same way; the rules of the first prompt still hold. accepted: checkpoint is the new, validated one. "
			"given-up: say why it failed and stop.\n"
			"4. When accepted, tune {keep: \"faster\"}: it goes back to the parent if it is not faster.\n",
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
	{ "start-from-kernel", "Start from a kernel", "Turns a kernel into a context, validates it and times it as the baseline",
	  kernel_arguments, start_from_kernel },
	{ "optimize-step", "One step faster",
	  "Profiles, chooses a change by what limits the kernel, applies, tunes and compares it", step_arguments, optimize_step },
	{ "be-the-model", "Be the model", "Applies a transformation without a configured model: you write the regions",
	  model_arguments, be_the_model },
	{ NULL, NULL, NULL, NULL, NULL },
};
