/* Which of a module's variables PTX may write. What a compiler makes of whole kernels is in sandbox/test_sandbox_compile.c. */
#include "backends/cuda/cuda.h"

#include "base/mem.h"
#include "tap.h"

static const struct cuda_variable variables[] = { { "flag", 4 }, { "table", 64 } };

/* The name of the variable that this body of a function may write, or "". */
static const char *kept(const char *definitions, const char *body)
{
	char *ptx = mem_fmt(".version 9.0\n.target sm_90a\n.address_size 64\n.global .align 4 .u32 flag = 1;\n"
			    ".global .align 4 .b8 table[64] = {1, 2};\n%s\n.visible .entry k(\n\t.param .u64 k_param_0\n)\n{\n"
			    "\t.reg .b64 \t%%rd<9>;\n%s\tret;\n}\n",
			    definitions, body);
	const struct cuda_variable *v = cuda_variables_kept(ptx, variables, MEM_COUNT(variables));
	free(ptx);
	return v ? v->name : "";
}

int main(void)
{
	static const struct {
		const char *what, *definitions, *body, *want;
	} rows[] = {
		{ "nothing uses them", "", "", "" },
		{ "loads", "", "ld.global.u32 %r1, [flag];\nld.global.nc.v2.f32 {%f1, %f2}, [table+8];\n", "" },
		{ "loads through registers", "",
		  "mov.u64 %rd1, table;\ncvta.global.u64 %rd2, %rd1;\nmad.wide.s32 %rd3, %r1, 4, %rd2;\nld.f32 %f1, [%rd3+4];\n",
		  "" },
		{ "a store", "", "st.global.u32 [flag], %r1;\n", "flag" },
		{ "a guarded store", "", "@!%p1 st.global.u32 [flag], %r1;\n", "flag" },
		{ "a store through registers", "", "mov.u64 %rd1, table;\nadd.s64 %rd2, %rd1, %rd5;\nst.global.u32 [%rd2], %r1;\n",
		  "table" },
		{ "a store through a register that a loop carries back", "",
		  "$L__BB0_1:\nst.global.u32 [%rd4], %r1;\nmov.u64 %rd4, %rd3;\nmov.u64 %rd3, table;\n@%p1 bra $L__BB0_1;\n",
		  "table" },
		{ "a vector's part", "",
		  "mov.b64 {%r1, %r2}, %rd1;\nmov.u64 %rd1, flag;\ncvt.u64.u32 %rd2, %r2;\nst.global.u32 [%rd2], 1;\n", "flag" },
		{ "an address in memory", "", "mov.u64 %rd1, flag;\nst.shared.u64 [%rd5], %rd1;\n", "flag" },
		{ "an atomic operation", "", "atom.global.add.u32 %r1, [flag], 1;\n", "flag" },
		{ "a call", "", "{ // callseq 0, 0\nst.param.b64 [param0+0], flag;\ncall.uni f, (param0);\n}\n", "flag" },
		{ "a print", "",
		  "{ // callseq 0, 0\nst.param.b64 [param0+0], table;\ncall.uni (retval0),\nvprintf,\n(param0);\n}\n", "" },
		{ "a returned address", "", "mov.u64 %rd1, flag;\nst.param.b64 [func_retval0+0], %rd1;\n", "flag" },
		{ "a decision", "", "mov.u64 %rd1, flag;\nsetp.eq.s64 %p1, %rd1, %rd2;\n@%p1 bra $L__BB0_1;\n", "flag" },
		{ "another variable's value", ".global .align 8 .u64 at[1] = {generic(flag)};", "", "flag" },
		{ "a constant's value", ".const .align 8 .u64 at[1] = {flag};", "", "flag" },
		{ "bits of an address as an index", "",
		  "mov.u64 %rd1, flag;\nand.b64 %rd2, %rd1, 255;\nadd.s64 %rd3, %rd4, %rd2;\nld.u8 %r1, [%rd3];\n", "flag" },
		{ "a carry", "", "mov.u64 %rd1, flag;\nadd.cc.u32 %r1, %rd1, %rd1;\n", "flag" },
		{ "two addresses in one", "", "mov.u64 %rd1, flag;\nmov.u64 %rd2, table;\nadd.s64 %rd3, %rd1, %rd2;\n", "flag" },
		{ "a part of a register", "", "{ .reg .v2 .u64 v; mov.u64 v.x, flag; st.global.u32 [v.r], 1; }\n", "flag" },
		{ "an operand without a blank before it", "", "mov.u64%rd1, flag;\nst.global.u32 [%rd1], 1;\n", "flag" },
		{ "a store to all devices", "", "multimem.st.relaxed.sys.global.u32 [flag], 1;\n", "flag" },
		{ "a call with a print's name among its arguments", "", "st.param.b64 [vprintf], flag;\ncall.uni f, (vprintf);\n",
		  "flag" },
		{ "a print that does not take the argument", "",
		  "st.param.b64 [p], flag;\ncall.uni (r), vprintf, (a, b);\ncall.uni f, (p);\n", "flag" },
		{ "a print of the code's own", ".func (.reg .b32 r) vprintf (.param .b64 p)\n{\nret;\n}",
		  "st.param.b64 [p], flag;\ncall.uni (r), vprintf, (p);\n", "flag" },
		{ "a failed assertion", "", "st.param.b64 [param0+0], table;\ncall.uni \n__assertfail, \n(\nparam0\n);\n", "" },
		{ "a register of all functions", ".reg .u64 g;", "", "flag" },
		{ "a text across lines", "", ".pragma \"a\n\"; st.global.u32 [flag], 77; //\"\n", "flag" },
		{ "a loop to an end", "",
		  "mov.u64 %rd1, table;\nadd.s64 %rd2, %rd1, 64;\n$L1:\nld.f32 %f1, [%rd1];\nadd.s64 %rd1, %rd1, 4;\n"
		  "setp.ne.s64 %p1, %rd1, %rd2;\n@%p1 bra $L1;\n",
		  "" },
		{ "a comparison with a guess", "",
		  "mov.u64 %rd2, %rd9;\n@%p2 mov.u64 %rd2, table;\nmov.u64 %rd1, table;\nsetp.lt.u64 %p1, %rd1, %rd2;\n", "table" },
		{ "an ordered comparison", "", "mov.u64 %rd1, table;\nadd.s64 %rd2, %rd1, 64;\nsetp.lt.u64 %p1, %rd1, %rd2;\n",
		  "table" },
		{ "a comparison beside assembly", "", "// begin inline asm\nmov.u64 %rd1, table;\nsetp.ne.s64 %p1, %rd1, %rd1;\n",
		  "table" },
		{ "a bit of an address", "", "mov.u64 %rd1, flag;\nor.b64 %rd2, %rd1, 8;\nsub.s64 %rd3, %rd2, %rd1;\n", "flag" },
		{ "an address in another space", "", "mov.u64 %rd1, flag;\ncvta.to.shared.u64 %rd2, %rd1;\n", "flag" },
		{ "a load from another space", "", "mov.u64 %rd1, flag;\nld.const.u8 %r1, [%rd1];\n", "flag" },
		{ "another name of a function", ".alias vprintf, f;", "", "flag" },
		{ "a variable of a function", "", "{.global .u32 own; st.global.u32 [own], 1; }\n", "flag" },
		{ "a print beside assembly", "", "// begin inline asm\nst.param.b64 [p], flag;\ncall.uni (r), vprintf, (p);\n",
		  "flag" },
		{ "a choice of two tables", "",
		  "mov.u64 %rd1, table;\nmov.u64 %rd2, flag;\nselp.b64 %rd3, %rd1, %rd2, %p1;\nld.u32 %r1, [%rd3];\n", "" },
		{ "a copy to shared memory", "", "mov.u64 %rd1, table;\ncp.async.ca.shared.global [%r1], [%rd1], 16;\n", "" },
		{ "a load with a hint", "", "ld.global.nc.L1::no_allocate.f32 %f1, [table];\n", "" },
		{ "comments and line information", "", ".loc 1 2 3\nld.global.u32 %r1, [flag]; // st.global.u32 [flag], %r1;\n",
		  "" },
		{ "an instruction behind line information", "", ".loc 1 2 3 st.global.u32 [flag], %r1;\n", "flag" },
		{ "a text with an escape", "", ".pragma \"\\\"\"; st.global.u32 [flag], %r1;\n", "flag" },
		{ "another function's register", "", "ld.global.u32 %r1, [flag];\nret;\n}\n.func g()\n{\nst.global.u32 [%r1], 1;\n",
		  "" },
	};
	for (size_t i = 0; i < MEM_COUNT(rows); i++)
		is_str(kept(rows[i].definitions, rows[i].body), rows[i].want, "%s", rows[i].what);
	const struct cuda_variable other = { "k$flag", 4 };
	ok(cuda_variables_kept(".global .u32 flag;\n", &other, 1) == &other,
	   "a variable that the code does not define may be written");
	for (const char *at = ".global .u32 k$flag = {1, /* \" */ 2}; .entry k() { @"; *at; at++)
		cuda_variables_kept(at, &other, 1);
	ok(true, "code that is cut off is read");
	return tap_done();
}
