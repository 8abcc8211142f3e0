/* SPIR-V that no compiler made is read in bounded time, and code that reads what it writes is told from code that does not. */
#include "backends/hlsl/object.h"

#include "backends/hlsl/glslang.h"
#include "backends/values/immediates.h"
#include "base/buf.h"
#include "base/clock.h"
#include "pace.h"
#include "tap.h"

enum { GL_COMPUTE = 5, LOCAL_SIZE = 17, WORKGROUP = 4, FIRST = 10, LEVELS = 15, MEMBERS = 16, POINTER = 60, VARIABLE = 61 };

static void put(struct buf *b, const uint32_t *words, uint32_t n, uint32_t code)
{
	uint32_t head = (n + 1) << 16 | code;
	buf_add(b, &head, sizeof head);
	buf_add(b, words, n * sizeof *words);
}

#define PUT(b, code, ...) put(b, (uint32_t[]){ __VA_ARGS__ }, sizeof((uint32_t[]){ __VA_ARGS__ }) / sizeof(uint32_t), code)

/* Structs of structs, each with sixteen of the one before: sixteen to the fifteenth floats. */
static void nested(struct buf *b)
{
	uint32_t header[] = { 0x07230203, 0x10300, 0, 100, 0 };
	buf_add(b, header, sizeof header);
	PUT(b, 17, 1);
	PUT(b, 14, 0, 1);
	PUT(b, 15, GL_COMPUTE, 1, 0x6e69616d, 0);
	PUT(b, 16, 1, LOCAL_SIZE, 1, 1, 1);
	PUT(b, 22, FIRST - 1, 32);
	for (uint32_t i = 0; i < LEVELS; i++) {
		uint32_t words[1 + MEMBERS] = { FIRST + i };
		for (int k = 1; k <= MEMBERS; k++)
			words[k] = FIRST + i - 1;
		put(b, words, 1 + MEMBERS, 30);
	}
	PUT(b, 32, POINTER, WORKGROUP, FIRST + LEVELS - 1);
	PUT(b, 59, POINTER, VARIABLE, WORKGROUP);
}

/* Whether the code may read its buffer Y. */
static bool reads(const char *statements)
{
	struct err e = ERR_INIT;
	struct glslang_output o;
	struct spirv s;
	struct buf text = BUF_INIT;
	bool read = false;
	buf_addf(&text,
		 "StructuredBuffer<float> X : register(t1);\nRWStructuredBuffer<float> Y : register(u0);\n"
		 "float get(RWStructuredBuffer<float> from, uint i) { return from[i]; }\n"
		 "[numthreads(64, 1, 1)] void k(uint3 id : SV_DispatchThreadID) { uint i = id.x; %s }",
		 statements);
	bool good = hlsl_glslang(buf_text(&text), "k", false, &o);
	if (ok(good, "%s: it compiles: %s", statements, o.log) &&
	    hlsl_spirv_read(o.words, o.word_count, &s, &e) == 0) {
		for (size_t i = 0; i < s.binding_count; i++)
			read |= strcmp(s.bindings[i].name, "Y") == 0 && s.bindings[i].read;
		hlsl_spirv_fini(&s);
	}
	free(o.words);
	free(o.log);
	buf_fini(&text);
	return read;
}

/* The module's floats and others; how many of them are `v`. */
static int holds(const struct wire_immediates *w, double v)
{
	int n = 0;
	for (size_t i = 0; i < w->float_count; i++)
		n += w->floats[i] == v;
	for (size_t i = 0; i < w->other_count; i++)
		n += w->others[i] == v;
	return n;
}

/* What the code holds after the compiler has computed with it. */
static void test_immediates(void)
{
	static const char *const text = "StructuredBuffer<float> X : register(t1);\n"
					"RWStructuredBuffer<float> Y : register(u0);\n"
					"[numthreads(64, 1, 1)] void k(uint3 id : SV_DispatchThreadID) { uint i = id.x;\n"
					"if (X[i] == 9998.0f + 1.0f || int(i) == -777) Y[i] = 1e30;\n"
					"if (asuint(X[i]) == 0x42f6e979u) Y[i] = 1e30; }";
	struct wire_immediates w = { 0 };
	struct err e = ERR_INIT;
	struct glslang_output o;
	struct spirv s;
	bool good = hlsl_glslang(text, "k", false, &o);
	if (ok(good, "it compiles: %s", o.log) && hlsl_spirv_read(o.words, o.word_count, &s, &e) == 0) {
		hlsl_spirv_immediates(&s, &w);
		immediates_finish(&w);
		ok(holds(&w, 9999) == 1 && holds(&w, (double)1e30f) == 1, "floats, also one that is a sum");
		ok(holds(&w, -777) == 1 && holds(&w, 0x42f6e979) == 1 && holds(&w, (double)123.456001f) == 1,
		   "integers, and what their bits mean as a float");
		ok(holds(&w, 9998) == 0 && holds(&w, 0) == 0, "not what was folded away, and no zeros");
		hlsl_spirv_fini(&s);
	}
	/* Cut off, or with a word that is something else: read or refused, and never read beyond its end. */
	int odd = 0;
	for (size_t at = 5; at < o.word_count; at++) {
		uint32_t kept = o.words[at];
		for (int how = 0; how < 3; how++) {
			o.words[at] = how == 0 ? kept ^ 0xFFFF : how == 1 ? kept + 0x10000 : 0xFFFFFFFF;
			if (hlsl_spirv_read(o.words, o.word_count, &s, NULL) < 0)
				continue;
			hlsl_spirv_immediates(&s, &w);
			hlsl_spirv_fini(&s);
			odd++;
		}
		o.words[at] = kept;
	}
	immediates_finish(&w);
	ok(odd > 0 && w.other_count < 10000, "damaged modules are refused or read (%d read)", odd);
	free(w.floats);
	free(w.others);
	free(o.words);
	free(o.log);
}

int main(void)
{
	test_immediates();
	ok(!reads("Y[i] = X[i] * 25 + exp(X[i + 1]);"), "a buffer that is only written is not read");
	ok(!reads("if (X[i] > 0) Y[i] = 0; else for (uint k = 0; k < i; k++) Y[k] = X[k];"),
	   "nor is one that branches and loops write");
	ok(reads("Y[i] = X[i]; if (Y[i + 1] == 3) Y[i] = 4;"), "a comparison with what is there reads it");
	ok(reads("Y[i] += X[i];"), "adding to what is there reads it");
	ok(reads("Y[i] = get(Y, i);"), "a function that is given the buffer reads it");
	struct buf b = BUF_INIT;
	struct spirv s = { .bindings = NULL };
	struct err e = ERR_INIT;
	nested(&b);
	struct pace pace = pace_begin();
	int rc = hlsl_spirv_read((const uint32_t *)(const void *)b.data, b.len / 4, &s, &e);
	ok(pace_within(&pace, 2 * CLOCK_S), "a type of endless parts is read in bounded time (%s)", pace_text(&pace));
	is_int(rc, 0, "the module is read (%s)", e.text);
	ok(s.shared > 1u << 30, "its shared memory is too large for any device (%u bytes)", s.shared);
	if (rc == 0)
		hlsl_spirv_fini(&s);
	buf_fini(&b);
	return tap_done();
}
