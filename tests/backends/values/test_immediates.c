/* backends/values/immediates: the numbers in PTX and in source text, and what integers mean as floats. */
#include "backends/values/immediates.h"

#include "base/mem.h"
#include "tap.h"

static int count(const double *list, size_t n, double v)
{
	int found = 0;
	for (size_t i = 0; i < n; i++)
		found += list[i] == v;
	return found;
}

static struct wire_immediates of_ptx(const char *text)
{
	struct wire_immediates w = { 0 };
	immediates_add_ptx(&w, text);
	immediates_finish(&w);
	return w;
}

static void fini(struct wire_immediates *w)
{
	free(w->floats);
	free(w->others);
}

static void test_ptx(void)
{
	struct wire_immediates w = of_ptx(".version 8.0\n.target sm_90a\n.address_size 64\n"
					  ".const .align 4 .f32 table[2] = {0f3FC00000, 0fC61C3C00};\n"
					  ".visible .entry k(.param .u64 k_param_0)\n{\n"
					  "\t.reg .b32 %r<77>;\n"
					  "\tld.param.u64 %rd1, [k_param_0];\n"
					  "\tld.global.f32 %f1, [%rd1+4096];\n"
					  "\tsetp.eq.f32 %p1, %f1, 0f4640E6B6; // 5555\n"
					  "@%p1 bra $L__BB0_3;\n"
					  "\tsetp.gt.s32 \t%p2, %r1, 100000;\n"
					  "\tmov.b32 %r2, -9999;\n"
					  "\tmov.b32 %r3, 0x42f6e979;\n"
					  "\tmov.b16 %rs1, 0x4612;\n"
					  "\tmov.b32 %r4, 1175864402;\n"
					  "\tmov.f64 %fd1, 0dC0C387FAE147AE14;\n"
					  "\tmov.u64 %rd2, 123456789012;\n"
					  "$L__BB0_3:\n\tret;\n}\n");
	ok(count(w.floats, w.float_count, 1.5) && count(w.floats, w.float_count, -9999), "a table's floats");
	ok(count(w.floats, w.float_count, (double)12345.6777f), "an operand");
	ok(count(w.floats, w.float_count, -9999.96), "a double (%zu floats)", w.float_count);
	is_int((long)w.float_count, 4, "no other floats");
	ok(count(w.others, w.other_count, 100000) && count(w.others, w.other_count, -9999), "integers, also negative ones");
	ok(count(w.others, w.other_count, (double)123.456001f), "an integer's bits as a float");
	ok(count(w.others, w.other_count, 6.0703125) && count(w.others, w.other_count, 9344), "16 bits as f16 and as bf16");
	ok(count(w.others, w.other_count, 123456789012), "64 bits");
	static const double none[] = { 4096, 5555, 77, 3, 8, 4, 90 };
	int found = 0;
	for (size_t i = 0; i < MEM_COUNT(none); i++)
		found += count(w.others, w.other_count, none[i]);
	is_int(found, 0, "no addresses, names, comments and directives");
	fini(&w);
	static const char *const odd[] = {
		"",
		"\n\n",
		"0f",
		"\tmov 0f1234567",
		"@",
		"@%p1",
		"\tmov.b16",
		"\tmov.f32 %f, 0f7F800000;",
		"\tmov.f32 %f, 0f7FC00000;",
		"]]][[[",
		"\tsetp 99999999999999999999999999;",
		"\tmov.b99999999999999999999 1",
	};
	size_t all = 0;
	for (size_t i = 0; i < MEM_COUNT(odd); i++) {
		w = of_ptx(odd[i]);
		all += w.float_count;
		fini(&w);
	}
	is_int((long)all, 0, "what is no finite float is none");
}

static void test_source(void)
{
	struct wire_immediates w = { 0 };
	immediates_add_source(&w, "#define T2 64\nfloat4 f(float x)\n"
				  "{ return x == 9999.0f || x > 1e-5 || x < .25 || x == 3f ? v1 : a[777] + 0x1F + 0x1.8p4; }");
	immediates_finish(&w);
	static const double floats[] = { 1e-5, 0.25, 3, 24, 9999 };
	int found = 0;
	for (size_t i = 0; i < MEM_COUNT(floats); i++)
		found += count(w.floats, w.float_count, floats[i]);
	is_int(found, (long)w.float_count, "floats in source text");
	is_int(found, MEM_COUNT(floats), "all of them");
	ok(count(w.others, w.other_count, 777) && count(w.others, w.other_count, 31) && count(w.others, w.other_count, 64) &&
		   w.other_count == 3,
	   "integers, but not the digits of names");
	fini(&w);
}

/* Thousands are thinned evenly. */
static void test_many(void)
{
	struct wire_immediates w = { 0 };
	for (int i = 1; i <= 3000; i++) {
		immediates_add_float(&w, i);
		immediates_add_float(&w, i);
	}
	immediates_finish(&w);
	int ascend = 0;
	for (size_t i = 1; i < w.float_count; i++)
		ascend += w.floats[i] > w.floats[i - 1];
	ok(w.float_count > 200 && w.float_count <= 256 && ascend == (int)w.float_count - 1 && w.floats[w.float_count - 1] > 2900,
	   "thousands become %zu, in order", w.float_count);
	fini(&w);
}

int main(void)
{
	test_ptx();
	test_source();
	test_many();
	return tap_done();
}
