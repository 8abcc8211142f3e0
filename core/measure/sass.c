/* sass: see sass.h. */
#include "core/measure/sass.h"

#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/lex.h"
#include "base/mem.h"
#include "core/workers/child.h"

#define DISASSEMBLE_NS (20 * CLOCK_S)
#define DISASSEMBLE_MEMORY ((size_t)4 << 30)

/* Opcodes without their modifiers, for compute capability 7.0 to 12.x: CUDA Binary Utilities, "Instruction Set Reference". */
static const char *const opcodes[SASS_KINDS] = {
	[SASS_FLOAT] = " FADD FADD2 FMUL FMUL2 FFMA FFMA2 FMNMX FMNMX3 FSET FSETP FSEL FCHK FSWZADD HADD2 HMUL2 HFMA2 HMNMX2 HSET2 "
		       "HSETP2 DADD DMUL DFMA "
		       "DMNMX DSETP MUFU ",
	[SASS_INTEGER] = " IMAD IADD IADD3 IADD32I LEA ISETP IABS IMNMX VIMNMX VIADD VIADDMNMX SHF SHL SHR LOP3 LOP PRMT SEL SGXT "
			 "BMSK POPC FLO IDP "
			 "ISCADD XMAD UIADD3 UIMAD ULEA ULOP3 USHF UISETP UPRMT USEL USGXT UBMSK UPOPC UFLO ",
	[SASS_CONVERT] = " F2F F2FP F2I F2IP I2F I2FP I2I I2IP FRND ",
	[SASS_TENSOR] = " HMMA IMMA DMMA QMMA BMMA OMMA HGMMA IGMMA QGMMA BGMMA UTCHMMA UTCQMMA UTCIMMA UTCOMMA ",
	[SASS_LOAD] = " LDG LD ",
	[SASS_STORE] = " STG ST ",
	[SASS_ASYNC] = " LDGSTS UTMALDG UTMASTG UTMAREDG UBLKCP ",
	[SASS_SHARED] = " LDS STS LDSM STSM ATOMS ",
	[SASS_LOCAL] = " LDL STL ",
	[SASS_ATOMIC] = " ATOM ATOMG RED REDG ",
	[SASS_BARRIER] = " BAR SYNCS MEMBAR DEPBAR LDGDEPBAR WARPSYNC UCGABAR_ARV UCGABAR_WAIT WARPGROUP ",
	[SASS_CONTROL] = " BRA BRX EXIT BSSY BSYNC BREAK CALL RET JMP JMX YIELD ",
};
static const char *const words[SASS_KINDS] = {
	[SASS_FLOAT] = "float",  [SASS_INTEGER] = "integer", [SASS_CONVERT] = "conversions", [SASS_TENSOR] = "tensor",
	[SASS_LOAD] = "loads",   [SASS_STORE] = "stores",    [SASS_ASYNC] = "async copies",  [SASS_SHARED] = "shared memory",
	[SASS_LOCAL] = "spills", [SASS_ATOMIC] = "atomics",  [SASS_BARRIER] = "barriers",    [SASS_CONTROL] = "branches",
	[SASS_OTHER] = "other",
};

struct instruction {
	enum sass_kind kind;
	unsigned bytes; /* of a load or store */
	unsigned flops;
	char *target;     /* a label; NULL: no branch */
	const char *file; /* in the text, up to a quote */
	long line;
	bool looped;
};
struct label {
	char *name;
	size_t at; /* the instruction behind it */
};
/* The kernel that is read. */
struct reading {
	char *kernel; /* NULL: none */
	struct instruction *at;
	size_t count;
	struct label *labels;
	size_t label_count;
	const char *file;
	long line;
};

static enum sass_kind kind_of(const char *op, size_t n)
{
	char word[32];
	if (n + 3 > sizeof word)
		return SASS_OTHER;
	snprintf(word, sizeof word, " %.*s ", (int)n, op);
	/* Ways to move a register. */
	if (strncmp(op, "IMAD.MOV", 8) == 0 || strncmp(op, "HFMA2.MMA", 9) == 0)
		return SASS_OTHER;
	for (int k = 0; k < SASS_OTHER; k++)
		if (strstr(opcodes[k], word))
			return (enum sass_kind)k;
	return SASS_OTHER;
}

/* Of the modifiers ".E.128.CONSTANT". */
static unsigned bytes_of(const char *op, size_t n)
{
	static const struct {
		const char *modifier;
		unsigned bytes;
	} widths[] = { { ".256", 32 }, { ".128", 16 }, { ".64", 8 }, { ".U16", 2 }, { ".S16", 2 }, { ".U8", 1 }, { ".S8", 1 } };
	for (size_t i = 0; i < MEM_COUNT(widths); i++) {
		if (memmem(op, n, widths[i].modifier, strlen(widths[i].modifier)))
			return widths[i].bytes;
	}
	return 4;
}

static unsigned flops_of(const char *op, size_t n)
{
	static const struct {
		const char *names;
		unsigned flops;
	} kinds[] = { { " FFMA DFMA HADD2 HMUL2 FADD2 FMUL2 ", 2 }, { " HFMA2 FFMA2 ", 4 }, { " FADD FMUL DADD DMUL MUFU ", 1 } };
	char word[32];
	snprintf(word, sizeof word, " %.*s ", (int)(n < 28 ? n : 28), op);
	for (size_t i = 0; i < MEM_COUNT(kinds); i++)
		if (strstr(kinds[i].names, word))
			return kinds[i].flops;
	return 0;
}

/* A line is an address in a comment, perhaps a predicate (@!P0), and the instruction with its operands. */
static void read_instruction(struct reading *r, const char *line, size_t n)
{
	const char *end = line + n, *op = memmem(line, n, "*/", 2);
	if (op == NULL)
		return;
	for (op += 2; op < end && (*op == ' ' || *op == '\t' || *op == '{'); op++)
		;
	if (op < end && *op == '@') {
		op += strcspn(op, " \n");
		op += strspn(op, " ");
	}
	size_t name = 0, whole = 0;
	while (op + name < end && lex_in_word(op[name]))
		name++;
	while (op + whole < end && op[whole] != ' ' && op[whole] != ';')
		whole++;
	/* Padding behind the end. */
	if (name == 0 || (name == 3 && strncmp(op, "NOP", 3) == 0))
		return;
	struct instruction *i = MEM_PUSH(r->at, r->count);
	*i = (struct instruction){ .kind = kind_of(op, name),
				   .bytes = bytes_of(op, whole),
				   .flops = kind_of(op, name) == SASS_FLOAT ? flops_of(op, name) : 0,
				   .file = r->file,
				   .line = r->line };
	const char *target = memmem(op, (size_t)(end - op), "`(", 2);
	if (strncmp(op, "BRA", 3) == 0 && target)
		i->target = mem_strn(target + 2, strcspn(target + 2, ")\n"));
}

static void mark_loops(struct reading *r)
{
	for (size_t i = 0; i < r->count; i++)
		for (size_t k = 0; r->at[i].target && k < r->label_count; k++)
			if (strcmp(r->labels[k].name, r->at[i].target) == 0)
				for (size_t x = r->labels[k].at; r->labels[k].at < i && x <= i; x++)
					r->at[x].looped = true;
}

static void add_spill(struct sass_mix *m, const struct instruction *i)
{
	char *region = mem_strn(i->file ? i->file : "", i->file ? strcspn(i->file, "\"\n") : 0);
	const char *slash = strrchr(region, '/');
	if (slash)
		memmove(region, slash + 1, strlen(slash));
	for (size_t k = 0; k < m->spill_count; k++)
		if (m->spills[k].line == i->line && strcmp(m->spills[k].region, region) == 0) {
			m->spills[k].count++;
			free(region);
			return;
		}
	*MEM_PUSH(m->spills, m->spill_count) = (struct sass_spill){ .region = region, .line = i->line, .count = 1 };
}

static int by_count(const void *a, const void *b)
{
	const struct sass_spill *x = a, *y = b;
	return x->count != y->count ? (x->count < y->count ? 1 : -1) : (x->line > y->line) - (x->line < y->line);
}

static void add_up(const struct reading *r, struct sass_mix *m)
{
	double bytes[SASS_KINDS] = { 0 };
	for (size_t i = 0; i < r->count; i++)
		m->in_loops += r->at[i].looped;
	m->instructions = r->count;
	for (size_t i = 0; i < r->count; i++) {
		if (r->at[i].kind == SASS_LOCAL)
			add_spill(m, &r->at[i]);
		if (m->in_loops && !r->at[i].looped)
			continue;
		m->kinds[r->at[i].kind]++;
		m->flops += r->at[i].flops;
		bytes[r->at[i].kind] += r->at[i].bytes;
	}
	m->load_bytes = m->kinds[SASS_LOAD] ? bytes[SASS_LOAD] / (double)m->kinds[SASS_LOAD] : NAN;
	m->store_bytes = m->kinds[SASS_STORE] ? bytes[SASS_STORE] / (double)m->kinds[SASS_STORE] : NAN;
	if (m->spill_count)
		qsort(m->spills, m->spill_count, sizeof *m->spills, by_count);
}

/* Adds the kernel that was read, if any, and begins anew. */
static void close_kernel(struct reading *r, struct sass *s)
{
	if (r->kernel && r->count) {
		struct sass_mix *m = MEM_PUSH(s->at, s->count);
		*m = (struct sass_mix){ .kernel = r->kernel };
		r->kernel = NULL;
		mark_loops(r);
		add_up(r, m);
	}
	for (size_t i = 0; i < r->count; i++)
		free(r->at[i].target);
	for (size_t i = 0; i < r->label_count; i++)
		free(r->labels[i].name);
	free(r->at);
	free(r->labels);
	free(r->kernel);
	*r = (struct reading){ .kernel = NULL };
}

void sass_read(const char *text, struct sass *ret_sass)
{
	static const char section[] = ".section\t.text.", file[] = "//## File \"", comment[] = "/*";
	struct reading r = { .kernel = NULL };
	*ret_sass = (struct sass){ .at = NULL };
	for (const char *line = text; *line;) {
		size_t n = strcspn(line, "\n"), blank = strspn(line, " \t");
		const char *at = line + (blank < n ? blank : n);
		if (strncmp(at, ".section", 8) == 0) {
			close_kernel(&r, ret_sass);
			if (strncmp(at, section, sizeof section - 1) == 0)
				r.kernel = mem_strn(at + sizeof section - 1, strcspn(at + sizeof section - 1, ",\" \n"));
		} else if (r.kernel && strncmp(at, file, sizeof file - 1) == 0) {
			const char *number = memmem(at, n - (size_t)(at - line), "\", line ", 8);
			r.file = at + sizeof file - 1;
			r.line = number ? strtol(number + 8, NULL, 10) : 0;
		} else if (r.kernel && strncmp(at, comment, 2) == 0) {
			read_instruction(&r, at, n - (size_t)(at - line));
		} else if (r.kernel && *at == '.' && n && line[n - 1] == ':') {
			*MEM_PUSH(r.labels, r.label_count) =
				(struct label){ .name = mem_strn(at, n - (size_t)(at - line) - 1), .at = r.count };
		}
		line += n + (line[n] == '\n');
	}
	close_kernel(&r, ret_sass);
}

void sass_fini(struct sass *s)
{
	for (size_t i = 0; i < s->count; i++) {
		for (size_t k = 0; k < s->at[i].spill_count; k++)
			free(s->at[i].spills[k].region);
		free(s->at[i].spills);
		free(s->at[i].kernel);
	}
	free(s->at);
	*s = (struct sass){ .at = NULL };
}

double sass_flops(const struct sass_mix *m)
{
	return m->flops / (double)(m->in_loops ? m->in_loops : m->instructions);
}

const struct sass_mix *sass_find(const struct sass *s, const char *kernel)
{
	for (size_t i = 0; i < s->count; i++)
		if (strcmp(s->at[i].kernel, kernel) == 0)
			return &s->at[i];
	return NULL;
}

void sass_describe(const struct sass_mix *m, struct buf *out)
{
	enum { SPILLS = 3 };
	size_t of = m->in_loops ? m->in_loops : m->instructions;
	buf_addf(out, "%zu of %zu instructions in loops:", m->in_loops, m->instructions);
	for (int k = 0; k < SASS_OTHER; k++)
		if (m->kinds[k])
			buf_addf(out, "%s %zu %s (%.0f %%)", out->data[out->len - 1] == ':' ? "" : ",", m->kinds[k], words[k],
				 100.0 * (double)m->kinds[k] / (double)of);
	if (isfinite(m->load_bytes))
		buf_addf(out, "; loads of %.3g bytes", m->load_bytes);
	if (isfinite(m->store_bytes))
		buf_addf(out, "; stores of %.3g bytes", m->store_bytes);
	for (size_t i = 0; i < m->spill_count && i < SPILLS; i++)
		buf_addf(out, "%s%s:%ld (%zu)", i ? ", " : "; spills at ", m->spills[i].region, m->spills[i].line,
			 m->spills[i].count);
}

int sass_disassemble(const void *binary, size_t len, const struct cancel *cancel, struct sass *ret_sass, struct err *e)
{
	char *tool = child_find_tool("PEAKD_NVDISASM", "nvdisasm");
	struct buf out = BUF_INIT;
	if (tool == NULL)
		return err_set(e, ERR_UNSUPPORTED,
			       "nvdisasm is not on this machine, or PEAKD_NVDISASM forbids it (looked in $PEAKD_NVDISASM, the CUDA "
			       "toolkit's bin and $PATH); "
			       "NVIDIA's package cuda-nvdisasm-13-0 brings it");
	char *const argv[] = { tool, (char *)"--print-code", (char *)"--print-line-info", (char *)"/dev/stdin", NULL };
	const struct child_bounds bounds = { DISASSEMBLE_NS, DISASSEMBLE_MEMORY, cancel };
	int rc = child_filter(argv, &(struct child_input){ binary, len }, &bounds, &out, e);
	if (rc == 0)
		sass_read(buf_text(&out), ret_sass);
	buf_fini(&out);
	free(tool);
	return rc;
}
