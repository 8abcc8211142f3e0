/* What host code records: the plan of the examples, types and names of arguments, scratch, tables, copies, maps,
 * pruning. */
#include "core/context/host.h"
#include "core/context/spec.h"

#include "core/context/sample.h"
#include "core/context/space.h"
#include "tap.h"

static struct plan *run(const struct context *ctx, const char *params, struct err *e)
{
	struct params *p = NULL;
	struct plan *plan = NULL;
	struct facts facts = sample_facts();
	if (params_parse(ctx, params, true, &p, e) == 0)
		(void)host_run(ctx, p, &facts, &plan, e);
	params_free(p);
	return plan;
}

static struct plan *run_host(const char *backend, const char *fields, const char *host, struct err *e)
{
	struct context *ctx = sample_context(backend, fields, host);
	*e = (struct err)ERR_INIT;
	struct plan *plan = run(ctx, strstr(fields, "BX") ? "n=64 BX=16" : "n=64", e);
	context_free(ctx);
	return plan;
}

static void test_example(void)
{
	struct err e = ERR_INIT;
	struct context *ctx = NULL;
	is_int(context_load("examples/matmul-fp32-hlsl.peak.md", &ctx, &e), 0, "the example is read %s", e.text);
	struct plan *plan = run(ctx, "n=512 BX=16 BY=8", &e);
	ok(plan != NULL, "its host code runs %s", e.text);
	is_int(plan->buffer_count, 3, "the plan has the declared arrays");
	is_str(plan->buffers[2].name, "C", "arrays keep their order");
	is_int(plan->buffers[2].role, PLAN_OUT, "an output is marked");
	is_int(plan->buffers[0].bytes, 512 * 512 * 4, "buffers have their bytes");
	const struct plan_launch *l = &plan->ops[0].launch;
	is_str(l->kernel, "matmul", "the launch names its kernel");
	is_int(l->grid[0], 32, "the grid's x is recorded");
	is_int(l->grid[1], 64, "the grid's y is recorded");
	is_int(l->block[1], 8, "the block's y is recorded");
	is_int(l->arg_count, 4, "all arguments are recorded");
	is_str(l->args[3].name, "n", "a scalar argument keeps its name");
	is_int(l->args[3].type, DTYPE_I32, "a scalar argument has its declared type");
	is_int(l->args[3].i, 512, "a scalar argument has its value");
	plan_free(plan);
	context_free(ctx);
}

static void test_args(void)
{
	struct err e;
	struct plan *p = run_host("hlsl", "constants:\n  HALF: 0.5\n",
				  "local m = n*2\nlaunch('k', 1, 1, {A, C, m, z=i64(7), b=HALF, a=f16(2)})\n", &e);
	ok(p != NULL, "HLSL takes named arguments %s", e.text);
	const struct plan_launch *l = &p->ops[0].launch;
	is_int(l->arg_count, 6, "positional and named arguments are recorded");
	is_str(l->args[2].name, "m", "a local's name is kept");
	is_str(l->args[3].name, "a", "named arguments come last, in alphabetical order");
	is_int(l->args[3].type, DTYPE_F16, "a typed scalar keeps its type");
	is_str(l->args[4].name, "b", "the second named argument follows");
	ok(l->args[4].type == DTYPE_F32 && l->args[4].f == 0.5, "a fraction becomes f32");
	ok(l->args[5].type == DTYPE_I64 && l->args[5].i == 7, "i64(7) is an i64");
	plan_free(p);
	p = run_host("hlsl", "", "launch('k', 1, 1, {A, S = C})\n", &e);
	l = &p->ops[0].launch;
	is_str(l->args[1].name, "S", "a buffer may be bound under another name");
	is_str(p->buffers[l->args[1].index].name, "C", "it is the same buffer");
	plan_free(p);
	p = run_host("hlsl", "", "launch('k', 1, 1, {A, C, C = A})\n", &e);
	has_str(e.text, "two arguments are named C", "but not under one that another has");
	p = run_host("cuda", "", "launch('k', 1, 1, {A, C, n+1, 2^40, 1.5, n, C})\n", &e);
	l = &p->ops[0].launch;
	ok(l->args[2].type == DTYPE_I32 && l->args[2].i == 65, "an integer becomes i32");
	is_int(l->args[3].type, DTYPE_I64, "an integral float that does not fit i32 becomes i64");
	is_str(l->args[5].name, "n", "n keeps its name in CUDA too");
	plan_free(p);
	p = run_host("cuda", "", "launch('k', 1, 1, {A, m=1})\n", &e);
	ok(p == NULL, "CUDA refuses named arguments");
	has_str(e.text, "sample.peak.md: host code, line 1: launch: argument m has a name",
		"the message says that arguments go by position");
	p = run_host("hlsl", "", "\nlaunch('k', 1, 1, {A, n+1})\n", &e);
	has_str(e.text, "line 2: launch: argument 2 has no name", "HLSL refuses an argument without a name");
	p = run_host("cuda", "", "launch('k', 1, 1, {A, X, n})\n", &e);
	has_str(e.text, "argument X has no value", "a misspelt argument is refused");
	p = run_host("cuda", "", "launch('k', {n/3}, 1, {A})\n", &e);
	has_str(e.text, "launch: grid: expected an integer, found number 21.3", "a fractional grid is refused");
	p = run_host("cuda", "", "launch('k', 0, 1, {A})\n", &e);
	has_str(e.text, "launch: grid: 0 is out of range", "an empty grid is refused");
	p = run_host("cuda", "", "launch('k', 1, 1, {A}, {shard=4})\n", &e);
	has_str(e.text, "no option shard (did you mean shared?)", "an unknown option is refused with the nearest name");
	p = run_host("cuda", "", "launch('k', 4, 1, {A}, {shared=4096, cluster=2, cooperative=true})\n", &e);
	ok(p && p->ops[0].launch.shared == 4096 && p->ops[0].launch.cluster[0] == 2 && p->ops[0].launch.cooperative,
	   "options that are not a table are refused");
	plan_free(p);
	p = run_host("cuda", "", "local x = 1\n", &e);
	has_str(e.text, "launched no kernel", "host code that launches nothing is refused");
}

static void test_memory(void)
{
	struct err e;
	struct plan *p = run_host(
		"cuda", "",
		"local t = alloc({f32, n, 4}, 'part')\nlocal u = alloc(100)\nlocal o = {}\n"
		"for i = 1, n do o[i] = i*i end\nlocal w = table(i16, o, 'order')\nmemset(t, 0)\ncopy(u, A, 64)\n"
		"launch('k', 1, 1, {A, C, t, u, w})\n",
		&e);
	ok(p != NULL, "scratch, table, memset and copy are recorded %s", e.text);
	is_int(p->buffer_count, 5, "scratch and tables follow the declared arrays");
	is_str(p->buffers[2].name, "part", "scratch has its given name");
	is_str(p->buffers[3].name, "scratch1", "scratch without a name is numbered");
	ok(p->buffers[2].role == PLAN_SCRATCH && p->buffers[2].bytes == 64 * 4 * 4 && p->buffers[2].rank == 2,
	   "scratch has its type and extents");
	ok(p->buffers[4].role == PLAN_TABLE && ((int16_t *)p->buffers[4].table)[63] == 4096, "a table has its values");
	is_int(p->op_count, 3, "memset, copy and launch are operations");
	is_int(p->ops[0].memset.bytes, 1024, "memset covers the buffer by default");
	is_int(p->ops[1].copy.bytes, 64, "copy takes what fits into both");
	plan_free(p);
	p = run_host("cuda", "", "local t = table(i8, {1, 300})\nlaunch('k', 1, 1, {t})\n", &e);
	has_str(e.text, "table: entry: number 300 does not fit into i8", "a table's entry that does not fit is refused");
	p = run_host("cuda", "", "memset(C, 0, 1000)\n", &e);
	has_str(e.text, "not inside buffer C of 256 bytes", "memset beyond the end is refused");
	p = run_host("cuda", "",
		     "need(C.size == n and A.bytes == 4*n and A.rows == 1 and A.cols == n and A.ld == n)\n"
		     "launch('k', device.warp_size, device.sm, {A, C})\n",
		     &e);
	ok(p && p->ops[0].launch.grid[0] == 32 && p->ops[0].launch.block[0] == 90, "fields of buffers and device %s",
	   e.text);
	plan_free(p);
	p = run_host("cuda", "",
		     "local t = alloc({f16, 128, 64})\nlocal m = tensor_map{t, box={64, 32}, swizzle=128, fill='nan'}\n"
		     "launch('k', 1, 1, {m, C})\n",
		     &e);
	ok(p != NULL, "a tensor map is recorded %s", e.text);
	ok(p && p->maps[0].dims[0] == 64 && p->maps[0].dims[1] == 128 && p->maps[0].strides[1] == 128 &&
		   p->maps[0].fill_nan && p->ops[0].launch.args[0].kind == PLAN_ARG_MAP,
	   "a tensor map has its buffer's extents and strides");
	plan_free(p);
}

/* The grid of a persistent kernel can be looked at without a device. */
static void test_units(void)
{
	struct facts f = sample_facts();
	size_t k = 0;
	while (strcmp(spec_device_name(k), "units") != 0)
		k++;
	is_int(spec_device_value(&f, k), 132, "a device tells its number of multiprocessors");
	f.units = 0;
	is_int(spec_device_value(&f, k), 64, "an architecture without devices gets a stand-in");
	f.runs = true;
	is_int(spec_device_value(&f, k), 0, "a device that does not tell it reports 0");
}

static void test_prune(void)
{
	struct err e;
	struct plan *p = run_host("cuda", "", "local x = 3\nneed(n % 48 == 0)\n", &e);
	is_int(e.code, ERR_PRUNED, "need() prunes");
	has_str(e.text, "host code, line 2: need(n % 48 == 0)", "need() quotes its line");
	p = run_host("cuda", "", "need(n > 100, 'too small')\n", &e);
	has_str(e.text, "need: too small", "need() gives its reason");
	p = run_host("cuda", "", "if n < 100 then invalid('tiny') end\n", &e);
	ok(p == NULL && e.code == ERR_PRUNED, "invalid() prunes");
	p = run_host("cuda", "requires: n % 128 == 0\n", SAMPLE_HOST, &e);
	is_int(e.code, ERR_PRUNED, "requires: prunes");
	has_str(e.text, "requires: n % 128 == 0", "the message has the requirement");
	p = run_host("cuda", "", "if n != 3 then end\n", &e);
	has_str(e.text, "host code, line 1:", "a syntax error names its line");
	has_str(e.text, "write ~= in place of !=", "a syntax error comes with advice");
	ok(p == NULL, "a failed run returns no plan");
}

int main(void)
{
	test_example();
	test_args();
	test_memory();
	test_units();
	test_prune();
	return tap_done();
}
