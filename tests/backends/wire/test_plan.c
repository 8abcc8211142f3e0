/* backends/wire/plan: what plan_check refuses, and that a plan survives the wire. */
#include "backends/wire/plan.h"

#include <math.h>

#include "backends/wire/wire.h"
#include "backends/sample_plan.h"
#include "tap.h"

/* One way to spoil the plan of sample_everything(), and a part of the message that must come. */
static void spoil(struct plan *p, int way)
{
	struct plan_launch *l = &p->ops[0].launch;
	switch (way) {
	case 0: p->buffers[0].dims[1] = 0; break;
	case 1: p->buffers[0].ld = 63; break;
	case 2: p->buffers[0].bytes--; break;
	case 3: p->buffers[0].dims[0] = INT64_MAX; break;
	case 4: p->buffers[1].name[0] = 'A'; break;
	case 5: p->buffers[0].rank = 6; break;
	case 6: p->buffers[0].hi = NAN; break;
	case 7: free(p->buffers[4].table); p->buffers[4].table = NULL; break;
	case 8: l->args[1].index = 5; break;
	case 9: l->grid[2] = 0; break;
	case 10: l->block[0] = l->block[1] = UINT32_MAX; break;
	case 11: l->cluster[0] = 3; break;
	case 12: p->ops[1].memset.offset = UINT64_MAX; break;
	case 13: p->ops[1].memset.buffer = 0; break;
	case 14: p->ops[2].copy.src_offset = 16384; break;
	case 15: p->ops[2].copy.src = 3; break;
	case 16: p->maps[0].box[0] = 64; break;
	case 17: p->maps[0].strides[1] = 200; break;
	case 18: p->maps[0].dims[1] = 65; break;
	case 19: p->maps[0].box[1] = 257; break;
	case 20: p->buffers[0].type = DTYPE_COUNT; break;
	case 21: p->ops[0].launch.kernel[0] = '\0'; break;
	}
}

static const char *const spoiled[] = {
	"buffer A: dimension 1 is 0", "leading dimension 63", "do not hold its shape", "2^44", "two buffers are named A",
	"rank 6", "not a range", "no content", "argument 2: buffer 5 does not exist", "grid, block or cluster z is 0",
	"threads in a block", "not a multiple of the cluster's 3", "are outside of scratch0", "A is an input", "are outside of A",
	"overlap", "longer than the swizzle", "multiple of 16", "reaches beyond", "allowed are 1 to 256", "type 14",
	"without a kernel name",
};

static void test_check(void)
{
	struct err e = ERR_INIT;
	struct plan *p = sample_everything();
	is_int(plan_check(p, &e), 0, "a plan with everything is accepted");
	plan_free(p);
	for (int way = 0; way < (int)MEM_COUNT(spoiled); way++) {
		p = sample_everything();
		spoil(p, way);
		is_int(plan_check(p, &e), -ERR_INPUT, "spoiled plan %d is refused", way);
		has_str(e.text, spoiled[way], "the refusal of plan %d says why", way);
		plan_free(p);
	}
	p = plan_new();
	is_int(plan_check(p, &e), -ERR_INPUT, "a plan that launches nothing is refused");
	plan_free(p);
	plan_free(NULL);
}

static void test_sizes(void)
{
	struct plan_buffer b = { .type = DTYPE_F16, .rank = 3, .dims = { 2, 3, 5 }, .ld = 8, .bytes = 96 };
	is_int(plan_buffer_logical(&b), 30, "logical elements are the product of the dims");
}

static void test_wire(void)
{
	struct err e = ERR_INIT;
	struct buf first = BUF_INIT, second = BUF_INIT;
	struct plan *p = sample_everything(), *q = plan_new();
	wire_encode(&plan_table, p, &first);
	struct wire_in in = { .at = (uint8_t *)first.data, .end = (uint8_t *)first.data + first.len };
	is_int(wire_decode(&plan_table, &in, q, &e), 0, "a plan is read back to its last byte");
	wire_encode(&plan_table, q, &second);
	ok(first.len == second.len && memcmp(first.data, second.data, first.len) == 0, "the plan is the same");
	is_str(q->buffers[4].name, "order", "the names of its buffers are read back");
	ok(memcmp(q->buffers[4].table, p->buffers[4].table, 16) == 0, "its tables are read back");
	plan_free(p);
	plan_free(q);
	buf_fini(&first);
	buf_fini(&second);
}

static int same_form(const struct plan *p, const struct plan *q, bool with_grids)
{
	struct buf first = BUF_INIT, second = BUF_INIT;
	struct plan *a = plan_form(p, with_grids), *b = plan_form(q, with_grids);
	wire_encode(&plan_table, a, &first);
	wire_encode(&plan_table, b, &second);
	int same = first.len == second.len && memcmp(first.data, second.data, first.len) == 0;
	buf_fini(&first);
	buf_fini(&second);
	plan_free(a);
	plan_free(b);
	return same;
}

/* Extents, values and grids depend on the input size; what a compiler or its checks look at does not. */
static void test_form(void)
{
	struct err e = ERR_INIT;
	struct plan *p = sample_everything(), *small = sample_matmul(64, 16, 16), *large = sample_matmul(640, 16, 16);
	p->ops[0].launch.cluster[0] = 2;
	struct plan *form = plan_form(p, false);
	is_int(plan_check(form, &e), 0, "the form of a plan with everything is a plan %s", e.text);
	is_int((int)form->op_count, 1, "a form has the plan's launches only");
	ok(form->ops[0].launch.cluster[0] == 2 && memcmp(form->ops[0].launch.grid, p->ops[0].launch.grid, 12) == 0,
	   "a grid that a cluster divides stays in the form");
	plan_free(form);
	form = plan_form(large, false);
	is_int((int)form->ops[0].launch.grid[0], 1, "another grid does not");
	ok(same_form(small, large, false), "two input sizes have one form");
	ok(!same_form(small, large, true), "two input sizes have two forms with grids");
	large->ops[0].launch.grid[1] = 65536;
	ok(!same_form(small, large, false), "a grid that some devices refuse changes the form");
	large->ops[0].launch.grid[1] = 1;
	large->ops[0].launch.block[0]++;
	ok(!same_form(small, large, false), "a block changes the form");
	large->ops[0].launch.block[0]--;
	large->buffers[1].type = DTYPE_F16;
	ok(!same_form(small, large, false), "a type changes the form");
	plan_free(form);
	plan_free(p);
	plan_free(small);
	plan_free(large);
}

int main(void)
{
	test_form();
	test_check();
	test_sizes();
	test_wire();
	return tap_done();
}
