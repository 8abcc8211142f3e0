/* A child that refuses sizes of its parent: covered, declared by requires:, or narrowed. */
#include "core/context/domain.h"

#include "core/context/sample.h"
#include "tap.h"

static void compare(const char *fields, const char *host, struct domain *d)
{
	struct facts facts = sample_facts();
	struct err e = ERR_INIT;
	struct context *parent = sample_context("cuda", SAMPLE_TUNE "check: n = {67, 100}\n", SAMPLE_HOST);
	struct context *child = sample_context("cuda", fields, host);
	is_int(domain_compare(parent, child, &facts, d, &e), 0, "two contexts are compared %s", e.text);
	context_free(parent);
	context_free(child);
}

int main(void)
{
	struct domain d;
	compare(SAMPLE_TUNE, SAMPLE_HOST, &d);
	is_str(d.text, "4 of 4 input sizes covered", "a context covers its own sizes");
	domain_fini(&d);
	compare(SAMPLE_TUNE, "need(n % BX == 0)\n" SAMPLE_HOST, &d);
	ok(d.sizes == 4 && d.covered == 2 && d.narrowed == 2 && d.declared == 0,
	   "host code that needs multiples narrows the domain");
	has_str(d.text, "2 of 4 input sizes covered; narrowed without requires: n=67 (", "the text names the sizes");
	has_str(d.text, "host code, line 1: need(n % BX == 0))", "the text gives the reason");
	domain_fini(&d);
	compare("tune:\n  BX: {16, 32}\nwhere: n % BX == 0\n", SAMPLE_HOST, &d);
	ok(d.covered == 2 && d.narrowed == 2, "where: narrows the domain");
	domain_fini(&d);
	compare(SAMPLE_TUNE "requires: n % 16 == 0\n", "need(n % BX == 0)\n" SAMPLE_HOST, &d);
	ok(d.covered == 2 && d.narrowed == 0 && d.declared == 2, "requires: declares a narrower domain");
	is_str(d.text, "2 of 4 input sizes covered, 2 excluded by requires:", "the text counts the declared sizes");
	domain_fini(&d);
	compare(SAMPLE_TUNE, "need(BX == 16)\n" SAMPLE_HOST, &d);
	ok(d.covered == 4 && d.narrowed == 0, "pruning some tuning configurations does not narrow the domain");
	domain_fini(&d);
	return tap_done();
}
