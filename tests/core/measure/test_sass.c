/* What nvdisasm says of a kernel, read from its text; and the program started, where the test's own stand-in is one. */
#include "core/measure/sass.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "tap.h"

static const char listing[] =
	"\t.headerflags\t@\"EF_CUDA_SM90 EF_CUDA_VIRTUAL_SM(EF_CUDA_SM90)\"\n\n"
	"//--------------------- .nv.info                --------------------------\n"
	"\t.section\t.nv.info,\"\",@\"SHT_CUDA_INFO\"\n"
	"        /*0000*/ \t.byte\t0x04, 0x2f\n"
	"//--------------------- .text.sum               --------------------------\n"
	"\t.section\t.text.sum,\"ax\",@progbits\n"
	"        .global         sum\n"
	"        .type           sum,@function\n"
	"sum:\n"
	".text.sum:\n"
	"\t//## File \"/tmp/device\", line 3\n"
	"        /*0000*/                   LDC R1, c[0x0][0x28] ;\n"
	"        /*0010*/                   STL.64 [R1+0x8], R4 ;\n"
	"        /*0020*/              @!P0 BRA `(.L_x_1) ;\n"
	".L_x_0:\n"
	"\t//## File \"/tmp/device\", line 7\n"
	"        /*0030*/                   LDG.E.128.CONSTANT R4, desc[UR4][R2.64] ;\n"
	"        /*0040*/                   LDG.E R9, desc[UR4][R2.64+0x10] ;\n"
	"        /*0050*/                   FFMA R8, R4, R5, R8 ;\n"
	"        /*0060*/                   IMAD.MOV.U32 R7, RZ, RZ, R8 ;\n"
	"        /*0070*/                   IADD3 R2, R2, 0x10, RZ ;\n"
	"        /*0080*/                   LDL.64 R10, [R1+0x8] ;\n"
	"        /*0090*/                   LDGSTS.E.128 [R12], desc[UR4][R2.64] ;\n"
	"        /*00a0*/                   HMMA.16816.F32 R4, R8, R12, R4 ;\n"
	"        /*00b0*/               @P0 BRA `(.L_x_0) ;\n"
	".L_x_1:\n"
	"\t//## File \"/tmp/device\", line 9\n"
	"        /*00c0*/                   STG.E desc[UR4][R2.64], R8 ;\n"
	"        /*00d0*/                   EXIT ;\n"
	".L_x_2:\n"
	"        /*00e0*/                   BRA `(.L_x_2);\n"
	".L_x_3:\n"
	"//--------------------- .text.copy              --------------------------\n"
	"\t.section\t.text.copy,\"ax\",@progbits\n"
	".text.copy:\n"
	"        /*0000*/                   LDG.E.64 R4, desc[UR4][R2.64] ;\n"
	"        /*0010*/                   STG.E.64 desc[UR4][R2.64], R4 ;\n"
	"        /*0020*/                   EXIT ;\n";

static void program(void)
{
	char folder[] = "/tmp/peakd-sass-XXXXXX";
	struct sass s = { .at = NULL };
	struct err e = ERR_INIT;
	setenv("PEAKD_NVDISASM", "off", 1);
	is_int(sass_disassemble("x", 1, NULL, &s, &e), -ERR_UNSUPPORTED, "without the disassembler the view is closed");
	has_str(e.text, "cuda-nvdisasm", "and the message names the package");
	if (mkdtemp(folder) == NULL)
		exit(1);
	char *tool = mem_fmt("%s/nvdisasm", folder), *listed = mem_fmt("%s/listing", folder);
	FILE *f = fopen(listed, "w");
	fputs(listing, f);
	fclose(f);
	f = fopen(tool, "w");
	fprintf(f, "#!/bin/sh\n[ \"$(cat \"$3\")\" = binary ] || { echo 'unknown file' >&2; exit 3; }\nexec cat %s\n", listed);
	fclose(f);
	chmod(tool, 0700);
	setenv("PEAKD_NVDISASM", tool, 1);
	is_int(sass_disassemble("binary", 6, NULL, &s, &e), 0, "the disassembler reads the binary as a file %s", e.text);
	is_int((long long)s.count, 2, "and its listing is read");
	sass_fini(&s);
	is_int(sass_disassemble("other", 5, NULL, &s, &e), -ERR_UNSUPPORTED, "a binary that it refuses closes the view");
	has_str(e.text, "unknown file", "and its own words are passed on");
	unlink(tool);
	unlink(listed);
	rmdir(folder);
	free(tool);
	free(listed);
}

int main(void)
{
	struct sass s;
	struct buf text = BUF_INIT;
	sass_read(listing, &s);
	is_int((long long)s.count, 2, "two kernels are read, and no other section");
	const struct sass_mix *m = sass_find(&s, "sum"), *copy = sass_find(&s, "copy");
	ok(m && copy && !sass_find(&s, "none"), "kernels are found by name");
	is_int((long long)m->instructions, 15, "all instructions are counted");
	is_int((long long)m->in_loops, 9, "a backward branch makes a loop, and the padding behind the end none");
	is_int((long long)m->kinds[SASS_LOAD], 2, "loads of the loop");
	ok(m->load_bytes == 10, "their width is the mean of 16 and 4 bytes");
	ok(isnan(m->store_bytes), "the store behind the loop does not count");
	is_int((long long)m->kinds[SASS_TENSOR], 1, "a matrix instruction");
	is_int((long long)m->kinds[SASS_ASYNC], 1, "a copy to shared memory that passes no register");
	is_int((long long)m->kinds[SASS_FLOAT], 1, "a multiply-add on floats");
	ok(fabs(sass_flops(m) - 2.0 / 9) < 1e-9, "which is two operations in nine instructions");
	is_int((long long)m->kinds[SASS_INTEGER], 1, "an addition of addresses, and not the move");
	is_int((long long)m->spill_count, 2, "spills outside of the loop count, too");
	ok(m->spills[0].line == 3 && strcmp(m->spills[0].region, "device") == 0 && m->spills[0].count == 1,
	   "by source line, without the folder");
	ok(copy->in_loops == 0 && copy->load_bytes == 8 && copy->store_bytes == 8, "without a loop the whole kernel counts");
	sass_describe(m, &text);
	has_str(buf_text(&text), "9 of 15 instructions in loops: 1 float (11 %)", "the mix in words");
	has_str(buf_text(&text), "loads of 10 bytes; spills at device:3 (1), device:7 (1)", "with widths and the lines that spill");
	buf_fini(&text);
	sass_fini(&s);
	sass_read("", &s);
	is_int((long long)s.count, 0, "an empty text has no kernel");
	sass_fini(&s);
	program();
	return tap_done();
}
