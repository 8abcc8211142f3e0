/* policy_sequence: the transformations of a named sequence, in order, as `peakd run` applies them. */
#include "core/optimize/policy.h"

#include <string.h>

#include "base/mem.h"

/* A step that failed is begun again once: the recorded studies repair most first failures with a fresh conversation. */
enum { TRIES = 2 };

static int made_by(const struct graph *g, int parent, const char *name)
{
	for (size_t i = g->node_count; i > 0; i--)
		if (g->nodes[i - 1].parent == parent && strcmp(g->nodes[i - 1].by, name) == 0)
			return (int)i - 1;
	return -1;
}

static unsigned failures(const struct graph *g, int node, const char *name)
{
	unsigned n = 0;
	for (size_t i = 0; i < g->trial_count; i++)
		n += g->trials[i].node == node && g->trials[i].text && strcmp(g->trials[i].text, name) == 0;
	return n;
}

static void next(const struct graph *g, struct policy_choice *c)
{
	int node = 0;
	for (size_t i = 0; i < g->sequence_count; i++) {
		const char *name = g->sequence[i];
		int made = made_by(g, node, name);
		unsigned failed = failures(g, node, name);
		if (made < 0 && failed >= TRIES) {
			policy_stop(c, mem_fmt("step %zu of the sequence, %s, failed %u times", i + 1, name, failed));
			return;
		}
		if (made < 0) {
			policy_try_text(c, node, name,
					mem_fmt("step %zu of %zu of the sequence%s", i + 1, g->sequence_count,
						failed ? ", once more" : ""));
			return;
		}
		node = made;
	}
	policy_stop(c, mem_str(g->sequence_count ? "the sequence is complete" : "no sequence was named: --sequence"));
}

const struct policy policy_sequence = { "sequence", "PEAK", "a named sequence's transformations, in order", next };
