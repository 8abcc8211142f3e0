/* The race check: the tiled matmul that the tb-tiling transformation makes has no race, and has one without either
 * barrier. Other kernels show what counts as a race and what does not. Needs no device. */
#include "backends/hlsl/hlsl.h"

#include "backends/hlsl/glslang.h"
#include "backends/hlsl/object.h"
#include "backends/sample_plan.h"
#include "tap.h"

static struct wire_define defines[] = { { (char *)"BX", (char *)"8" }, { (char *)"BY", (char *)"4" },
					{ (char *)"TILE_K_SIZE", (char *)"8" } };

/* n is odd, so that tiles hang over every edge. */
enum { N = 19 };

static const struct wire_races asked = { .seed = 7, .ordered = WIRE_ORDER_FIXED };

static bool settled; /* of the last verdict: other values cannot show more */

/* The verdict of one kernel: "" none, else the finding or the error. free(). */
static char *judge(const char *device)
{
	struct err e = ERR_INIT;
	struct wire_compiled out;
	struct plan *p = sample_matmul(N, 8, 4);
	struct wire_compile c = { .backend = (char *)"hlsl", .arch = (char *)"spirv1.3", .macros = (char *)"",
				  .device = (char *)(uintptr_t)device, .defines = defines, .define_count = MEM_COUNT(defines),
				  .plan = p };
	struct wire_raced raced = { .finding = NULL };
	int rc = hlsl_compile(&c, &out, &e);
	if (rc == 0) {
		rc = hlsl_race_check(out.binary, out.binary_len, p, &asked, 4, &raced, &e);
		wire_compiled_fini(&out);
	}
	plan_free(p);
	if (rc < 0)
		return mem_fmt("error: %s", e.text);
	char *text = mem_fmt("%s", raced.finding ? raced.finding : "");
	free(raced.finding);
	settled = raced.settled;
	return text;
}

static void none(const char *name, const char *device)
{
	char *got = judge(device);
	ok(*got == 0, "%s: no race %s", name, got);
	free(got);
}

static void race(const char *name, const char *device, const char *part)
{
	char *got = judge(device);
	has_str(got ? got : "", part, "%s", name);
	free(got);
}

#define TILED(one, two) \
	"#define A_OR_ZERO(row, col) (((row) < n && (col) < n) ? A[min((row), n - 1) * n + min((col), n - 1)] : 0.0f)\n" \
	"#define B_OR_ZERO(row, col) (((row) < n && (col) < n) ? B[min((row), n - 1) * n + min((col), n - 1)] : 0.0f)\n" \
	"groupshared float a_tile[BY][TILE_K_SIZE];\n" \
	"groupshared float b_tile[TILE_K_SIZE][BX];\n" \
	"[numthreads(BX, BY, 1)]\n" \
	"void matmul(uint3 group : SV_GroupID, uint3 thread : SV_GroupThreadID)\n" \
	"{\n" \
	"	int row = int(group.y) * BY + int(thread.y), col = int(group.x) * BX + int(thread.x);\n" \
	"	int me = int(thread.y) * BX + int(thread.x);\n" \
	"	float acc = 0.0;\n" \
	"	for (int k0 = 0; k0 < n; k0 += TILE_K_SIZE) {\n" \
	"		for (int ea = me; ea < BY * TILE_K_SIZE; ea += BX * BY)\n" \
	"			a_tile[ea / TILE_K_SIZE][ea % TILE_K_SIZE] = \n" \
	"				A_OR_ZERO(int(group.y) * BY + ea / TILE_K_SIZE, k0 + ea % TILE_K_SIZE);\n" \
	"		for (int eb = me; eb < TILE_K_SIZE * BX; eb += BX * BY)\n" \
	"			b_tile[eb / BX][eb % BX] = B_OR_ZERO(k0 + eb / BX, int(group.x) * BX + eb % BX);\n" \
	"		" one "\n" \
	"		for (int kk = 0; kk < TILE_K_SIZE; kk++)\n" \
	"			acc += a_tile[int(thread.y)][kk] * b_tile[kk][int(thread.x)];\n" \
	"		" two "\n" \
	"	}\n" \
	"	if (row < n && col < n)\n" \
	"		C[row * n + col] = acc;\n" \
	"}\n"
#define BARRIER "GroupMemoryBarrierWithGroupSync();"
#define KERNEL(declarations, body) \
	declarations "[numthreads(BX, BY, 1)] void matmul(uint3 id : SV_DispatchThreadID, uint me : SV_GroupIndex) { " body " }\n"

/* A hostile binary from another database is refused, with `part` in the message. */
static void refused(const char *name, uint32_t *words, size_t count, const char *part)
{
	struct hlsl_kernel kernel = { (char *)"matmul", words, count * sizeof *words };
	struct plan *p = sample_matmul(N, 8, 4);
	struct buf binary = BUF_INIT;
	struct err e = ERR_INIT;
	struct wire_raced raced;
	hlsl_object_encode(&(struct hlsl_object){ .kernels = &kernel, .count = 1 }, &binary);
	ok(hlsl_race_check(binary.data, binary.len, p, &asked, 4, &raced, &e) < 0 && raced.finding == NULL, "%s are refused",
	   name);
	has_str(e.text, part, "the message says why");
	buf_fini(&binary);
	plan_free(p);
}

static void test_strange_words(void)
{
	/* The type of an integer ends before its width. */
	uint32_t words[] = { 0x07230203, 0x00010300, 0, 9, 0, 6u << 16 | 16, 1, 17, 8, 4, 1, 2u << 16 | 21, 2 };
	refused("words that no compiler makes", words, MEM_COUNT(words), "valid SPIR-V only");
	/* 65536 · 65536 wraps to 0. */
	struct glslang_output big;
	if (!hlsl_glslang("groupshared float s[4]; RWStructuredBuffer<float> C; [numthreads(65536, 65536, 1)]\n"
	                  "void matmul(uint me : SV_GroupIndex) { s[me & 3] = 1; GroupMemoryBarrierWithGroupSync(); C[0] = s[0]; }",
	                  "matmul", false, &big))
		ok(0, "%s", big.log);
	refused("2^32 threads in a group", big.words, big.word_count, "too large");
	free(big.words);
	free(big.log);
}

/* Waves have four lanes. A condition that does not hold leaves the output. */
#define EXPECT(condition) "C[(" condition ") ? me : 9999] = 1; "
#define WAVES(body) KERNEL("", "uint in_wave = me % 4, first = me - in_wave; bool odd = (me & 1) != 0; " body)

static void test_waves(void)
{
	none("lanes have their numbers", WAVES(EXPECT("WaveGetLaneIndex() == in_wave && WaveGetLaneCount() == 4")));
	race("the tests of waves can fail", WAVES(EXPECT("WaveGetLaneIndex() == me")), "outside of buffer C");
	none("sums, products, extremes and bits",
	     WAVES(EXPECT("WaveActiveSum(me) == 4 * first + 6 && WaveActiveSum(0.5) == 2.0 && WaveActiveProduct(in_wave + 1) == 24")
	     EXPECT("WaveActiveMin(me) == first && WaveActiveMax(int(me)) == int(first) + 3")
	     EXPECT("WaveActiveMax(-float(me)) == -float(first)")
	     EXPECT("WaveActiveBitOr(1u << in_wave) == 15 && WaveActiveBitAnd(~in_wave) == ~3u && WaveActiveBitXor(1u) == 0")
	     EXPECT("all(WaveActiveSum(uint2(1, me)) == uint2(4, 4 * first + 6))")));
	none("votes and ballots",
	     WAVES(EXPECT("WaveActiveAnyTrue(odd) && !WaveActiveAllTrue(odd) && WaveActiveAllEqual(first)")
	     EXPECT("!WaveActiveAllEqual(me)")
	     EXPECT("WaveActiveBallot(odd).x == 10 && WaveActiveCountBits(odd) == 2 && WavePrefixCountBits(odd) == in_wave / 2")
	     EXPECT("WaveIsFirstLane() == (in_wave == 0)")));
	none("values of other lanes",
	     WAVES(EXPECT("WaveReadLaneAt(me, 2) == first + 2 && WaveReadLaneFirst(me) == first")
	     EXPECT("WaveReadLaneAt(me, 3 - in_wave) == first + 3 - in_wave")
	     EXPECT("QuadReadAcrossX(me) == (me ^ 1) && QuadReadAcrossY(me) == (me ^ 2)")
	     EXPECT("QuadReadAcrossDiagonal(me) == (me ^ 3) && QuadReadLaneAt(me, 1) == first + 1")));
	none("lanes that diverge are inactive, and meet again behind the branch",
	     WAVES("if (odd) { " EXPECT("WaveActiveSum(1) == 2 && WaveReadLaneFirst(me) == first + 1")
	     " } else if (in_wave == 2) { " EXPECT("WaveActiveCountBits(true) == 1") " } " EXPECT("WaveActiveSum(1) == 4")));
	none("lanes of one turn of a loop meet, and those that left it wait behind it",
	     WAVES("uint n = 0; [loop] for (uint i = 0; i <= in_wave; i++) { if (i == 0 && odd) continue; n += WaveActiveSum(1); "
	     "if (i == 0 && in_wave == 2) break; } "
	     EXPECT("n == (in_wave == 0 ? 2 : in_wave == 1 ? 2 : in_wave == 2 ? 2 : 2 + 1 + 1)") EXPECT("WaveActiveSum(1) == 4")));
	none("lanes that returned are inactive",
	     WAVES("if (in_wave == 1) return; " EXPECT("WaveActiveSum(1) == 3 && WaveActiveBallot(true).x == 13")));
	race("an inactive lane has no value", WAVES("if (odd) C[me] = WaveReadLaneAt(me, 0);"), "which is not active");
	race("a wave operation is no barrier",
	     KERNEL("groupshared float s[BX * BY];\n", "s[me] = WaveActiveSum(A[me]); C[me] = s[me ^ 4];"),
	     "race in groupshared s");
	none("sums of waves, added behind a barrier",
	     KERNEL("groupshared float s[BX * BY];\n",
		    "float x = WaveActiveSum(A[me]); if (WaveIsFirstLane()) s[me / 4] = x; " BARRIER
		    " float sum = 0; for (uint i = 0; i < BX * BY / 4; i++) sum += s[i]; C[me] = sum;"));
	race("without that barrier",
	     KERNEL("groupshared float s[BX * BY];\n",
		    "float x = WaveActiveSum(A[me]); if (WaveIsFirstLane()) s[me / 4] = x; float sum = 0; for (uint i = 0; i < BX "
		    "* BY / 4; i++) sum += s[i]; C[me] = sum;"),
	     "race in groupshared s");
}

static void test_unwritten(void)
{
	race("shared memory that nobody writes", KERNEL("groupshared float s[BX * BY];\n", "C[me] = s[me];"),
	     "groupshared s, which no thread has written, and the output C depends");
	race("max() does not hide it", KERNEL("groupshared float s[BX * BY];\n", "C[me] = max(s[me], 0.0);"),
	     "no thread has written");
	race("min() does not hide it", KERNEL("groupshared float s[BX * BY];\n", "C[me] = min(s[me], 0.0);"),
	     "no thread has written");
	race("the last element is left out",
	     KERNEL("groupshared float s[BX * BY];\n",
		    "if (me < BX * BY - 1) s[me] = A[me]; " BARRIER " C[me] = s[BX * BY - 1 - me];"),
	     "element 31");
	race("a counter that begins with anything",
	     KERNEL("groupshared uint f;\n", "uint old; InterlockedAdd(f, 1u, old); " BARRIER " C[me] = f;"),
	     "no thread has written");
	none("what is read and not used",
	     KERNEL("groupshared float s[BX * BY];\n",
		    "if (me < 8) s[me] = A[me]; " BARRIER " float x = s[me % 16]; C[me] = me % 16 < 8 ? x : 0;"));
	race("a variable without a value", KERNEL("", "float x; if (me > 3) x = A[me]; C[me] = x;"), "before it has a value");
	race("an input is read beyond its end", KERNEL("", "C[me] = A[n * n + me];"), "reads outside of buffer A");
	none("and not used", KERNEL("", "float x = A[n * n + me - 8]; C[me] = me < 8 ? x : 0;"));
	race("an output is written beyond its end", KERNEL("", "C[n * n + 100000 + me] = A[me];"), "writes outside of buffer C");
	race("an output is written before its start", KERNEL("", "C[int(me) - 1] = A[me];"), "writes outside of buffer C");
}

static void test_buffers(void)
{
	none("groups that write the same", KERNEL("", "C[me] = A[me];"));
	race("threads of a group that write different numbers", KERNEL("", "C[me / 2] = me;"),
	     "race in buffer C: thread 1 of group 0 overwrites element 0, which thread 0 has written, with no barrier");
	race("groups that write different numbers", KERNEL("", "C[me] = id.x;"), "group 0 has written in the same launch");
	race("a result that another thread of the group wrote", KERNEL("", "C[me] = me; C[me + 32] = C[me ^ 1];"),
	     "race in buffer C");
	none("and behind a barrier", KERNEL("", "C[me] = me; AllMemoryBarrierWithGroupSync(); C[me + 32] = C[me ^ 1];"));
	race("sums without atomics", KERNEL("", "C[me] += 1;"), "groups run in any order");
	none("sums with atomics", KERNEL("", "uint old; C_bytes.InterlockedAdd(me * 4, 1u, old);"));
	race("atomics upon a zero that a group writes",
	     KERNEL("", "if (id.x < BX && id.y < BY) C[me] = 0; uint old; C_bytes.InterlockedAdd(me * 4, 1u, old);"),
	     "group 0 has written");
	none("the last group reads what the others published",
	     KERNEL("groupshared uint last;\n",
		    "uint at = (id.y / BY * ((n + BX - 1) / BX) + id.x / BX) * 2 + 40; if (me < 2) C_uint[at + me] = at; "
		    "DeviceMemoryBarrierWithGroupSync(); "
		    "uint old; if (me == 0) { C_bytes.InterlockedAdd(0, 1u, old); last = old; } " BARRIER
		    " if (last == 14 + ~0u) C_uint[1 + me] = C_uint[40 + me % 16];"));
	race("and needs a barrier of device memory before they do",
	     KERNEL("groupshared uint last;\n",
		    "uint at = (id.y / BY * ((n + BX - 1) / BX) + id.x / BX) * 2 + 40; if (me < 2) C_uint[at + me] = at; " BARRIER
		    " "
		    "uint old; if (me == 0) { C_bytes.InterlockedAdd(0, 1u, old); last = old; } " BARRIER
		    " if (last == 14 + ~0u) C_uint[1 + me] = C_uint[40 + me % 16];"),
	     "with no DeviceMemoryBarrier() behind the write");
	race("places by an atomic counter, in the order of groups",
	     KERNEL("", "uint at; C_bytes.InterlockedAdd(0, 1u, at); at += 2; if (at < uint(n * n)) C_uint[at] = id.y * n + id.x;"),
	     "the output C depends on the order in which groups and waves run");
	none("cross products, distances and reflections of vectors",
	     KERNEL("", "float3 u = float3(1, 2, 3), v = float3(3, 1, 2), w = cross(u, v);"
			" float off = abs(dot(w, u)) + abs(dot(w, v)) + abs(w.y - 7) + abs(distance(u, v) - sqrt(6.0));"
			" if (off < 1e-4) C[me] = id.x * 0;"
			" else C[me] = id.x; C[me] = dot(reflect(u, normalize(v)), v) < 0 ? C[me] : id.x;"));
	race("the views of a buffer are one", KERNEL("", "C[me] = me; C_uint[me ^ 1] = 7;"), "race in buffer C");
}

/* 15 groups, of which the first threads act. */
#define FIRSTS(body) KERNEL("", "uint at = id.y / BY * 3 + id.x / BX, old; if (me == 0) { " body " }")
#define FENCE "DeviceMemoryBarrier(); "
#define LOCK "do InterlockedCompareExchange(C_uint[0], ~0u, 1u, old); while (old != ~0u); " FENCE
#define UNLOCK "InterlockedExchange(C_uint[0], ~0u, old); "
#define PASS_ON(wait) \
	FIRSTS("uint seen = 0; if (at > 0) { " wait FENCE "C_uint[100 + at] = C_uint[99 + at] + C_uint[100] + seen; } " \
	       "else C_uint[100] = 3; " FENCE "InterlockedExchange(C_uint[at], 7u, old);")
#define LAST(count, publish) \
	FIRSTS("uint place; " count "C_uint[20 + at] = at; " FENCE publish \
	       "if (place % 64 == 13) { uint sum = 0; for (uint k = 0; k < 15; k++) sum += C_uint[20 + k]; C_uint[3] = sum; }")

static void test_turns(void)
{
	none("a lock around a plain sum", FIRSTS(LOCK "C_uint[1] = C_uint[1] + at; " FENCE UNLOCK));
	race("a lock that is given back before the sum is visible", FIRSTS(LOCK "C_uint[1] = C_uint[1] + at; " UNLOCK),
	     "with no DeviceMemoryBarrier() behind the write");
	race("a barrier behind it is too late", FIRSTS(LOCK "C_uint[1] = C_uint[1] + at; " UNLOCK FENCE),
	     "with no DeviceMemoryBarrier() behind the write");
	race("two locks", FIRSTS("do InterlockedCompareExchange(C_uint[8 + at % 2], ~0u, 1u, old); while (old != ~0u); " FENCE
				 "C_uint[1] = C_uint[1] + at; " FENCE "InterlockedExchange(C_uint[8 + at % 2], ~0u, old);"),
	     "which group 0 has");
	race("an exchange for a sum with what was there before",
	     FIRSTS("InterlockedExchange(C_uint[1], C_uint[1] + at, old);"), "depends on the turns");
	race("an exchange for a sum with what an atomic operation read",
	     FIRSTS("InterlockedOr(C_uint[1], 0u, old); InterlockedExchange(C_uint[1], old + at, old);"), "depends on the turns");
	race("a compare and exchange that nobody repeats",
	     FIRSTS("InterlockedCompareExchange(C_uint[1], C_uint[1], C_uint[1] + at, old);"),
	     "depends on the turns");
	race("the same in shared memory",
	     KERNEL("groupshared uint f;\n",
		    "f = 0; " BARRIER " uint old; InterlockedExchange(f, f + me, old); " BARRIER " C[me] = f;"),
	     "depends on the turns");
	none("a loop of compare and exchange in shared memory",
	     KERNEL("groupshared uint f;\n",
		    "f = 0; " BARRIER " uint old = f, seen; for (;;) { InterlockedCompareExchange(f, old, old + me, seen); "
		    "if (seen == old) break; old = seen; } " BARRIER " C[me] = f;"));
	race("an update that is lost behind many others",
	     FIRSTS("for (uint k = 0; k < 20; k++) InterlockedAdd(C_uint[8 + k % 2], 1u, old); "
		    "for (uint j = 0; j < 100 * at * at; j++) old = old * old + 1; "
		    "InterlockedExchange(C_uint[1], C_uint[1] + at + (old == 7), old);"),
	     "depends on the turns");
	none("groups that wait for the one before them, by looking", PASS_ON("do seen = C_uint[at - 1]; while (seen != 7u); "));
	none("and by atomic operations", PASS_ON("do InterlockedOr(C_uint[at - 1], 0u, seen); while (seen != 7u); "));
	race("but not for long", PASS_ON("for (uint k = 0; k < 5000 && seen != 7u; k++) seen = C_uint[at - 1]; "), "C");
	race("for another one", PASS_ON("do seen = C_uint[at - 1]; while (seen == 1u); "), "which group 0 has written");
	none("the last one adds up", LAST("", "InterlockedAdd(C_uint[0], 1u, place); "));
	race("all count before they are there",
	     LAST("InterlockedAdd(C_uint[0], 1u, place); ", "InterlockedAdd(C_uint[0], 64u, old); "), "race in buffer C");
	race("in another place", LAST("InterlockedAdd(C_uint[0], 1u, place); ", "InterlockedAdd(C_uint[1], 1u, old); "),
	     "groups run in any order");
}

/* What single-pass kernels do, all of it honest. */
static void test_passed_on(void)
{
	none("looking back over sums of one group and of all so far",
	     FIRSTS("C_uint[40 + at] = at + 1; " FENCE "InterlockedExchange(C_uint[at], 1u, old); uint sum = 0, j = at; "
		    "while (j > 0) { InterlockedOr(C_uint[j - 1], 0u, old); if (old == ~0u) continue; " FENCE
		    "if (old == 2u) { sum += C_uint[60 + j - 1]; break; } sum += C_uint[40 + j - 1]; j--; } "
		    "C_uint[60 + at] = sum + at + 1; " FENCE "InterlockedExchange(C_uint[at], 2u, old);"));
	none("the last group clears the counter", FIRSTS("InterlockedAdd(C_uint[0], 1u, old); if (old == 13u) C_uint[0] = ~0u;"));
	none("groups take work from a queue",
	     FIRSTS("uint item; InterlockedAdd(C_uint[0], 1u, item); "
		    "while (item + 1 < 40) { C_uint[21 + item] = item * 3; InterlockedAdd(C_uint[0], 1u, item); }"));
	none("the second one to come goes up in a tree",
	     FIRSTS("uint node = at + 14; C_uint[40 + node] = at; "
		    "while (node > 0) { uint up = (node - 1) / 2; " FENCE "InterlockedAdd(C_uint[up], 1u, old); "
		    "if (old == ~0u) break; " FENCE
		    "C_uint[40 + up] = C_uint[41 + 2 * up] + C_uint[42 + 2 * up]; node = up; }"));
	race("it needs the barrier behind its sum",
	     FIRSTS("uint node = at + 14; C_uint[40 + node] = at; " FENCE
		    "while (node > 0) { uint up = (node - 1) / 2; InterlockedAdd(C_uint[up], 1u, old); if (old == ~0u) break; "
		    "C_uint[40 + up] = C_uint[41 + 2 * up] + C_uint[42 + 2 * up]; node = up; }"),
	     "with no DeviceMemoryBarrier() behind the write");
}

/* Whether other values than the declared ones can show more: where they decide what is accessed, or what is written twice. */
static void test_depends(void)
{
	static const struct {
		const char *name, *device;
		bool settled;
	} kernels[] = {
		{ "a product in tiles", TILED(BARRIER, BARRIER), true },
		{ "a maximum through a function and shared memory",
		  KERNEL("groupshared float s[BX * BY];\n float most(float a, inout float b) { b += a; return max(a, b); }\n",
			 "float x = 1; uint at = id.y * 24 + id.x; s[me] = most(A[me], x); " BARRIER
			 " if (at < 361) C[at] = s[me ^ 1] + x;"),
		  true },
		{ "a branch", KERNEL("", "if (A[me] > 0) C[me] = 1;"), false },
		{ "a loop", KERNEL("", "float s = 0; for (uint k = 0; k < uint(A[me]); k++) s += 1; C[me] = s;"), false },
		{ "a place in a buffer", KERNEL("", "C[me] = B[uint(A[me]) % 4];"), false },
		{ "a place in shared memory",
		  KERNEL("groupshared float s[4];\n", "s[me % 4] = 1; " BARRIER " C[me] = s[uint(A[0]) % 4];"), false },
		{ "a branch on what shared memory was given",
		  KERNEL("groupshared float s[BX * BY];\n", "s[me] = A[me]; " BARRIER " if (s[me ^ 1] > 0) C[me] = 1;"), false },
		{ "a branch on what a function returns",
		  KERNEL("float twice(float a) { return a * 2; }\n", "if (twice(A[me]) > 1) C[me] = 1;"), false },
		{ "a branch on what a function leaves in its argument",
		  KERNEL("void twice(float a, out float b) { b = a * 2; }\n", "float x; twice(A[me], x); if (x > 1) C[me] = 1;"),
		  false },
		{ "a branch within a function",
		  KERNEL("float one(float a) { if (a > 0) return 1; return a; }\n", "C[me] = one(A[me]);"), false },
		{ "threads that write the same number", KERNEL("", "C[0] = max(A[me], 1e30);"), false },
		{ "an element of a local array", KERNEL("", "float v[4] = { 1, 2, 3, 4 }; C[me] = v[uint(A[me]) & 3];"), false },
	};
	for (size_t i = 0; i < MEM_COUNT(kernels); i++) {
		char *got = judge(kernels[i].device);
		ok(settled == kernels[i].settled, "%s: %s %s", kernels[i].name,
		   settled ? "one interpretation is enough" : "values matter", got);
		free(got);
	}
}

int main(void)
{
	test_depends();
	test_strange_words();
	test_waves();
	test_unwritten();
	test_buffers();
	test_turns();
	test_passed_on();
	none("both barriers", TILED(BARRIER, BARRIER));
	race("without the first barrier", TILED("", BARRIER), "race in groupshared a_tile");
	race("without the second barrier", TILED(BARRIER, ""), "race in groupshared a_tile");
	race("without any barrier", TILED("", ""), "race in groupshared");
	race("a memory barrier alone does not wait", TILED("GroupMemoryBarrier();", BARRIER), "race in groupshared");

	none("own elements need no barrier", KERNEL("groupshared float s[BX * BY];\n", "s[me] = A[me]; C[me] = s[me] * 2;"));
	race("a neighbour's element needs a barrier",
	     KERNEL("groupshared float s[BX * BY];\n", "s[me] = A[me]; C[me] = s[me ^ 1];"), "element");
	none("a neighbour's element behind a barrier",
	     KERNEL("groupshared float s[BX * BY];\n", "s[me] = A[me]; " BARRIER " C[me] = s[me ^ 1];"));
	none("a flag that all threads set to the same value", KERNEL("groupshared int f;\n", "f = 3; " BARRIER " C[me] = f;"));
	race("a word that each thread sets differently", KERNEL("groupshared int f;\n", "f = int(me); " BARRIER " C[me] = f;"),
	     "overwrites");
	none("atomics", KERNEL("groupshared uint f;\n",
			       "if (me == 0) f = 0; " BARRIER " uint old; InterlockedAdd(f, 1u, old); " BARRIER " C[me] = f;"));
	race("atomics before the zero is written",
	     KERNEL("groupshared uint f;\n", "if (me == 0) f = 0; uint old; InterlockedAdd(f, 1u, old); C[me] = old;"),
	     "race in groupshared f");
	race("a barrier that some threads skip", KERNEL("groupshared float s[BX * BY];\n", "if (me > 5) " BARRIER " C[me] = 1;"),
	     "does not reach the barrier");
	race("two different barriers", KERNEL("groupshared float s[BX * BY];\n",
	     "if (me > 5) { s[me] = 1; " BARRIER " } else { s[me] = 2; " BARRIER " s[me] += 3; } C[me] = s[me];"), "barrier");
	race("an index that leaves the array", KERNEL("groupshared float s[8];\n", "s[me + 1] = A[me]; " BARRIER " C[me] = s[0];"),
	     "outside");

	/* 2^32 scalars: a count that wraps to 0 must not pass for a small one. The optimiser keeps structs so wide
	 * whole. */
	none("a loop of compare and exchange whose first read is plain",
	     KERNEL("", "uint old = C_uint[0], seen; for (uint k = 0; k < 1000; k++) { InterlockedCompareExchange(C_uint[0], old, "
			"old + 1, seen); "
			"if (seen == old) break; old = seen; }"));
	none("a choice that loads both sides",
	     KERNEL("groupshared float s[BX * BY];\n",
		    "s[me] = 1; " BARRIER " if (id.x < uint(n) && id.y < uint(n)) C[id.y * n + id.x] = me >= 4 ? s[me - 4] : 0;"));
	race("an output that depends on what lies outside",
	     KERNEL("groupshared float s[BX * BY];\n",
		    "s[me] = 1; " BARRIER " if (id.x < uint(n) && id.y < uint(n)) C[id.y * n + id.x] = s[me - 4];"),
	     "depends on what such memory holds");
	race("a local variable of 2^32 words",
	     KERNEL("#define M8(T, n) T n##0; T n##1; T n##2; T n##3; T n##4; T n##5; T n##6; T n##7;\n"
		    "#define M64(T, n) M8(T, n##0) M8(T, n##1) M8(T, n##2) M8(T, n##3) M8(T, n##4) M8(T, n##5) M8(T, n##6) M8(T, "
		    "n##7)\n"
		    "struct S0 { float a[262144]; };\nstruct S1 { M64(S0, a) M64(S0, b) };\nstruct S2 { M64(S1, a) M64(S1, b) };\n"
		    "groupshared float s[BX * BY];\n",
		    "S2 x; x.a00.b77.a[me] = A[me]; s[me] = x.a00.b77.a[7]; " BARRIER " C[me] = s[me ^ 1];"),
	     "error:");

	none("functions, vectors, loops, switches, local arrays",
	     KERNEL("groupshared float4 s[BX * BY];\n"
		    "float4 f(float4 x, int k) { for (int i = 0; i < k; i++) { if (i == 3) continue; x = x.wxyz + sqrt(abs(x)) * "
		    "i; } return x; }\n",
		    "float t[4]; for (int i = 0; i < 4; i++) t[i] = A[me + i]; s[me] = f(float4(t[0], t[1], t[2], t[3]), int(me % "
		    "5)); " BARRIER " float r = 0; switch (me % 3) { case 0: r = dot(s[me], s[0]); break; case 1: r = s[BX * BY - "
				    "1 - me].y; break; default: "
		    "r = max(s[0].x, 1.0); } C[me] = r + (any(s[0] > 0) ? 1 : 0);"));
	return tap_done();
}
