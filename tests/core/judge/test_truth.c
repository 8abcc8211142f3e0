/* core/judge/truth and core/context/lift: kernels of many kinds, lifted, give what plain C computes in double from the same inputs;
 * a lift that does not fit the device runs with smaller blocks; one that means something else is not taken. */
#include "core/judge/truth.h"

#include "backends/values/fill.h"
#include "core/context/lift.h"
#include "core/sample.h"
#include "core/workers/trial.h"

static struct sample sample;
static struct pool_worker *device;
static struct eval ev;

/* One buffer of the lifted plan, in double. */
struct array {
	const char *name;
	enum dtype type;
	size_t n;
	double *v;
};

struct arrays {
	struct array at[8];
	size_t count;
};

static const double *find(const struct arrays *a, const char *name)
{
	for (size_t i = 0; i < a->count; i++)
		if (strcmp(a->at[i].name, name) == 0)
			return a->at[i].v;
	return NULL;
}

static void add(struct arrays *a, const struct plan_buffer *b, const void *bytes)
{
	struct array *x = &a->at[a->count++];
	*x = (struct array){ b->name, b->type, plan_buffer_logical(b), MEM_NEW_N(double, plan_buffer_logical(b)) };
	dtype_load_all(b->type, bytes, x->v, x->n);
}

static struct context *parse(const char *front, const char *device_code, const char *host)
{
	struct err e = ERR_INIT;
	struct context *ctx = NULL;
	char *text =
		mem_fmt("---\nkernel: k\nbackend: hlsl\n%s---\n```hlsl\n%s```\n```lua host\n%s```\n", front, device_code, host);
	ok(context_parse("fixture", text, &ctx, &e) == 0, "the fixture is a context %s", e.text);
	free(text);
	return ctx;
}

static int choose(const struct context *ctx, const char *params_given, struct truth *t, struct err *e)
{
	struct params *params;
	struct reference_source j = { .ev = &ev, .baseline = ctx, .facts = &sample.facts };
	if (params_parse(ctx, params_given, true, &params, e) < 0)
		return -1;
	int rc = truth_choose(references_truths(sample.references), &j, pool_reference(device), params, t, e);
	params_free(params);
	return rc;
}

/* Inputs and outputs of one run of the chosen context. */
static int run(const struct truth *truth, struct variant *v, struct arrays *ins, struct arrays *outs, struct err *e)
{
	struct trial t;
	struct trial_input input = { .seed = 7, .poison = 0xFF };
	int rc = variant_build(&ev, truth->ctx, truth->params, &sample.facts, v, e);
	if (rc == 0)
		rc = trial_begin(&t, pool_reference(device), v, e);
	if (rc < 0)
		return rc;
	rc = trial_execute(&t, &input, EVAL_EXECUTE_NS, NULL, e);
	for (size_t i = 0; rc == 0 && i < v->plan->buffer_count; i++) {
		const struct plan_buffer *b = &v->plan->buffers[i];
		if (b->role != PLAN_IN)
			continue;
		void *bytes = mem_new(b->bytes, 1);
		fill_buffer(b, input.seed, bytes);
		add(ins, b, bytes);
		free(bytes);
	}
	for (uint32_t k = 0; rc == 0 && k < variant_output_count(v); k++) {
		const uint8_t *bytes;
		uint8_t *answer;
		size_t len;
		rc = trial_output(&t, k, &answer, &bytes, &len, e);
		if (rc == 0) {
			add(outs, variant_output(v, k), bytes);
			free(answer);
		}
	}
	trial_end(&t);
	return rc;
}

static void arrays_fini(struct arrays *a)
{
	for (size_t i = 0; i < a->count; i++)
		free(a->at[i].v);
}

/* One fixture; its computation writes what the only output must be. */
struct fixture {
	const char *name, *front, *device, *host, *params;
	void (*compute)(const struct arrays *in, double *out);
	enum dtype type;  /* of the lifted output */
	double tolerance; /* of the larger of the value and the root mean square */
};

static void play(const struct fixture *f)
{
	struct err e = ERR_INIT;
	struct truth t = { 0 };
	struct variant v = { 0 };
	struct arrays ins = { .count = 0 }, outs = { .count = 0 };
	struct context *ctx = parse(f->front, f->device, f->host);
	if (!ok(choose(ctx, f->params, &t, &e) == 0 && t.kind == TRUTH_BASELINE_LIFTED, "%s is lifted %s%s", f->name, e.text,
		t.why ? t.why : ""))
		goto out;
	if (!ok(run(&t, &v, &ins, &outs, &e) == 0 && outs.count == 1, "%s runs in double %s", f->name, e.text))
		goto out;
	double *want = MEM_NEW_N(double, outs.at[0].n), worst = 0, square = 0;
	f->compute(&ins, want);
	for (size_t i = 0; i < outs.at[0].n; i++)
		square += want[i] * want[i];
	double scale = sqrt(square / (double)outs.at[0].n);
	for (size_t i = 0; i < outs.at[0].n; i++) {
		double off = fabs(outs.at[0].v[i] - want[i]) / fmax(scale, fabs(want[i]));
		worst = off <= worst ? worst : off;
	}
	is_str(dtype_name(outs.at[0].type), dtype_name(f->type), "%s gives its output in the expected type", f->name);
	ok(worst <= f->tolerance, "%s in double agrees with C: worst %.3g", f->name, worst);
	free(want);
out:
	arrays_fini(&ins);
	arrays_fini(&outs);
	variant_fini(&v);
	truth_fini(&t);
	context_free(ctx);
}

/* --- fixtures --------------------------------------------------------------------------------------------------------------- */

static void softmax(const struct arrays *in, double *y)
{
	const double *x = find(in, "X");
	for (int r = 0; r < 7; r++, x += 33, y += 33) {
		double most = x[0], sum = 0;
		for (int i = 1; i < 33; i++)
			most = fmax(most, x[i]);
		for (int i = 0; i < 33; i++)
			sum += exp(x[i] - most);
		for (int i = 0; i < 33; i++)
			y[i] = exp(x[i] - most) / sum;
	}
}

static void layernorm(const struct arrays *in, double *y)
{
	const double *x = find(in, "X"), *gamma = find(in, "gamma"), *beta = find(in, "beta");
	for (int r = 0; r < 8; r++, x += 64, y += 64) {
		double mean = 0, square = 0;
		for (int i = 0; i < 64; i++)
			mean += x[i] / 64;
		for (int i = 0; i < 64; i++)
			square += (x[i] - mean) * (x[i] - mean) / 64;
		for (int i = 0; i < 64; i++)
			y[i] = (x[i] - mean) / sqrt(square + (double)1e-5f) * gamma[i] + beta[i];
	}
}

/* Literals of nine digits and more count as they are written, others as floats. */
static void gelu_tanh(const struct arrays *in, double *y)
{
	const double *x = find(in, "X");
	for (int i = 0; i < 500; i++)
		y[i] = 0.5 * x[i] * (1 + tanh(0.7978845608 * (x[i] + (double)0.044715f * x[i] * x[i] * x[i])));
}

static double erf_like(double x)
{
	double t = 1 / (1 + (double)0.3275911f * fabs(x));
	double p = 1.061405429;
	p = p * t - 1.453152027;
	p = p * t + 1.421413741;
	p = p * t - 0.284496736;
	p = p * t + 0.254829592;
	double y = 1 - p * t * exp(-x * x);
	return x < 0 ? -y : y;
}

static void gelu_erf(const struct arrays *in, double *y)
{
	const double *x = find(in, "X");
	for (int i = 0; i < 500; i++)
		y[i] = 0.5 * x[i] * (1 + erf_like(x[i] * (double)0.70710678f));
}

static void silu(const struct arrays *in, double *y)
{
	const double *x = find(in, "X");
	for (int i = 0; i < 256; i++)
		y[i] = x[i] / (1 + exp(-x[i]));
}

static void cross_entropy(const struct arrays *in, double *y)
{
	const double *x = find(in, "X"), *label = find(in, "L");
	double sum = 0;
	for (int r = 0; r < 64; r++, x += 20) {
		double all = 0;
		for (int i = 0; i < 20; i++)
			all += exp(x[i]);
		sum += log(all) - x[(int)label[r]];
	}
	y[0] = sum / 64;
}

static void prefix_sum(const struct arrays *in, double *y)
{
	const double *x = find(in, "X");
	double sum = 0;
	for (int i = 0; i < 256; i++)
		y[i] = sum += x[i];
}

static void gram(const struct arrays *in, double *y)
{
	const double *x = find(in, "X");
	for (int i = 0; i < 20; i++)
		for (int j = 0; j < 20; j++) {
			double d = 0;
			for (int k = 0; k < 3; k++)
				d += (x[3 * i + k] - x[3 * j + k]) * (x[3 * i + k] - x[3 * j + k]);
			y[20 * i + j] = pow(2, -(double)0.1f * d);
		}
}

static void bodies(const struct arrays *in, double *y)
{
	const double *x = find(in, "P");
	for (int i = 0; i < 30; i++) {
		double a[3] = { 0 };
		for (int j = 0; j < 30; j++) {
			double d[3], square = (double)0.01f;
			for (int k = 0; k < 3; k++) {
				d[k] = x[4 * j + k] - x[4 * i + k];
				square += d[k] * d[k];
			}
			for (int k = 0; k < 3; k++)
				a[k] += x[4 * j + 3] * d[k] / (square * sqrt(square));
		}
		for (int k = 0; k < 3; k++)
			y[4 * i + k] = a[k];
		y[4 * i + 3] = sin(a[0]) + pow(fabs(a[1]), 1.5);
	}
}

static void attention(const struct arrays *in, double *y)
{
	const double *q = find(in, "Q"), *k = find(in, "K"), *v = find(in, "V");
	for (int i = 0; i < 16; i++) {
		double s[16], sum = 0, most = -INFINITY;
		for (int j = 0; j < 16; j++) {
			s[j] = 0;
			for (int d = 0; d < 8; d++)
				s[j] += q[8 * i + d] * k[8 * j + d];
			s[j] *= 1 / sqrt(8.0);
			most = fmax(most, s[j]);
		}
		for (int j = 0; j < 16; j++)
			sum += s[j] = exp(s[j] - most);
		for (int d = 0; d < 8; d++) {
			y[8 * i + d] = 0;
			for (int j = 0; j < 16; j++)
				y[8 * i + d] += s[j] / sum * v[8 * j + d];
		}
	}
}

#define ELEMENTS "[numthreads(64, 1, 1)]\nvoid k(uint3 id : SV_DispatchThreadID)\n{\n"
static const struct fixture fixtures[] = {
	{ "softmax", "inputs:\n  m: int = {7}\n  n: int = {33}\n  X: f32[m, n] = normal\n  Y: out f32[m, n]\ntune:\n  T: {32}\n",
	  "groupshared float part[T];\n"
	  "[numthreads(T, 1, 1)]\nvoid k(uint3 g : SV_GroupID, uint t : SV_GroupIndex)\n{\n"
	  "	uint from = g.x * n;\n	float most = -3.402823e38f;\n"
	  "	for (uint i = t; i < uint(n); i += T) most = max(most, X[from + i]);\n"
	  "	part[t] = most;\n	GroupMemoryBarrierWithGroupSync();\n"
	  "	for (uint s = T / 2; s > 0; s /= 2) { if (t < s) part[t] = max(part[t], part[t + s]); "
	  "GroupMemoryBarrierWithGroupSync(); }\n"
	  "	most = part[0];\n	GroupMemoryBarrierWithGroupSync();\n	float sum = 0;\n"
	  "	for (uint j = t; j < uint(n); j += T) sum += exp(X[from + j] - most);\n"
	  "	sum = WaveActiveSum(sum);\n	if (WaveIsFirstLane()) part[t / WaveGetLaneCount()] = sum;\n"
	  "	GroupMemoryBarrierWithGroupSync();\n	sum = 0;\n"
	  "	for (uint w = 0; w < T / WaveGetLaneCount(); w++) sum += part[w];\n"
	  "	for (uint l = t; l < uint(n); l += T) Y[from + l] = exp(X[from + l] - most) / sum;\n}\n",
	  "launch(\"k\", m, T, {X, Y, n})\n", "m=7 n=33 T=32", softmax, DTYPE_F64, 1e-14 },
	{ "layernorm",
	  "inputs:\n  m: int = {8}\n  n: int = {64}\n  X: f32[m, n] = normal\n  gamma: f32[n] = random\n  beta: f32[n] = random\n"
	  "  Y: out f32[m, n]\nconstants:\n  scale: 1e-5\n  p: 2.5\n  step: 3\n",
	  "[numthreads(8, 1, 1)]\nvoid k(uint3 id : SV_DispatchThreadID)\n{\n	uint row = id.x;\n	float4 s = (float4)0;\n"
	  "	for (uint i = 0; i < 16; i++) s += X_float4[row * 16 + i];\n	float mean = dot(s, float4(1, 1, 1, 1)) / n;\n"
	  "	float square = 0;\n"
	  "	for (uint j = 0; j < 16; j++) { float4 d = X_float4[row * 16 + j] - mean; square += dot(d, d); }\n"
	  "	float r = rsqrt(square / float(n) + scale);\n"
	  "	for (uint l = 0; l < 16; l++)\n"
	  "		Y_float4[row * 16 + l] = mad((X_float4[row * 16 + l] - mean) * r, gamma_float4[l], beta_float4[l]);\n}\n",
	  "launch(\"k\", 1, 8, {X, gamma, beta, Y, n})\n", "m=8 n=64", layernorm, DTYPE_F64, 1e-13 },
	{ "gelu with tanh", "inputs:\n  n: int = {500}\n  X: f32[n] = normal\n  Y: out f32[n]\n",
	  "static const float c = 0.7978845608f;\n#define step(x) (x + 0.044715 * x * x * x)\n"
	  "float lerp(float x) { return 1.0 + tanh(c * step(x)); }\nfloat gelu(float x) { return 0.5 * x * lerp(x); }\n" ELEMENTS
	  "	if (id.x < uint(n)) Y[id.x] = gelu(X[id.x]);\n}\n",
	  "launch(\"k\", cdiv(n, 64), 64, {X, Y, n})\n", "n=500", gelu_tanh, DTYPE_F64, 1e-14 },
	{ "gelu with erf", "inputs:\n  n: int = {500}\n  X: f32[n] = normal\n  Y: out f32[n]\n",
	  "float erf_(float x)\n{\n	float t = 1.f / (1.f + .3275911f * abs(x));\n"
	  "	float p = ((((1.061405429 * t - 1.453152027) * t + 1.421413741) * t - 0.284496736) * t + 0.254829592) * t;\n"
	  "	return sign(x) * (1 - p * exp(-x * x));\n}\n" ELEMENTS
	  "	if (id.x < uint(n)) Y[id.x] = 0.5f * X[id.x] * (1 + erf_(X[id.x] * 7.0710678e-1));\n}\n",
	  "launch(\"k\", cdiv(n, 64), 64, {X, Y, n})\n", "n=500", gelu_erf, DTYPE_F64, 1e-14 },
	{ "silu of f16", "inputs:\n  x: f16[1] = zeros\n  exp2: i32 = {3}\n  X: f16[256] = random(-6, 6)\n  Y: out f16[256]\n",
	  ELEMENTS "	half x = X[id.x];\n	Y[id.x] = half(x / (1 + exp(-x)) * (exp2 - 2));\n}\n",
	  "launch(\"k\", 4, 64, {X, Y, x, exp2})\n", "exp2=3", silu, DTYPE_F64, 1e-14 },
	{ "silu of bf16", "inputs:\n  X: bf16[256] = random(-6, 6)\n  Y: out bf16[256]\n",
	  "float silu(float x) { return x / (1 + exp(-x)); }\n"
	  "uint narrow(float x) { uint u = asuint(x); return (u + 0x7fff + (u >> 16 & 1)) >> 16; }\n" ELEMENTS
	  "	uint two = X_uint[id.x];\n"
	  "	Y_uint[id.x] = narrow(silu(asfloat(two << 16))) | narrow(silu(asfloat(two & 0xffff0000))) << 16;\n}\n",
	  "launch(\"k\", 2, 64, {X, Y})\n", "", silu, DTYPE_BF16, 0x1p-8 },
	{ "cross entropy", "inputs:\n  X: f32[64, 20] = normal\n  L: i32[64] = random(0, 20)\n  Y: out f32[1]\n",
	  "groupshared float part[64];\n[numthreads(64, 1, 1)]\nvoid k(uint t : SV_GroupIndex)\n{\n	float all = 0;\n"
	  "	for (uint i = 0; i < 20; i++) all += exp(X[t * 20 + i]);\n	part[t] = log(all) - X[t * 20 + clamp(L[t], 0, "
	  "19)];\n"
	  "	GroupMemoryBarrierWithGroupSync();\n"
	  "	[unroll] for (uint s = 32; s > 0; s >>= 1) { if (t < s) part[t] += part[t + s]; GroupMemoryBarrierWithGroupSync(); "
	  "}\n"
	  "	if (t == 0) Y[0] = part[0] / 64;\n}\n",
	  "launch(\"k\", 1, 64, {X, L, Y})\n", "", cross_entropy, DTYPE_F64, 1e-14 },
	{ "prefix sum", "inputs:\n  X: f32[256] = random\n  Y: out f32[256]\n",
	  "groupshared float s[2][256];\n[numthreads(256, 1, 1)]\nvoid k(uint t : SV_GroupIndex)\n{\n	s[0][t] = X[t];\n	"
	  "uint from = 0;\n"
	  "	for (uint d = 1; d < 256; d *= 2) {\n		GroupMemoryBarrierWithGroupSync();\n"
	  "		s[1 - from][t] = t >= d ? s[from][t] + s[from][t - d] : s[from][t];\n		from = 1 - from;\n	}\n"
	  "	Y[t] = s[from][t];\n}\n",
	  "launch(\"k\", 1, 256, {X, Y})\n", "", prefix_sum, DTYPE_F64, 1e-13 },
	{ "Gram matrix", "inputs:\n  n: int = {20}\n  gamma: f32 = {0.1}\n  X: f32[n, 3] = random(-2, 2)\n  Y: out f32[n, n]\n",
	  "[numthreads(4, 4, 1)]\nvoid k(uint3 id : SV_DispatchThreadID)\n{\n	float3 a = float3(X[id.x * 3], X[id.x * 3 + 1], "
	  "X[id.x * 3 + 2]);\n"
	  "	float3 b = float3(X[id.y * 3], X[id.y * 3 + 1], X[id.y * 3 + 2]);\n"
	  "	float d = distance(a, b);\n	Y[id.y * n + id.x] = pow(2, -gamma * (d * d));\n}\n",
	  "launch(\"k\", {5, 5}, {4, 4}, {X, Y, n, gamma})\n", "n=20 gamma=0.1", gram, DTYPE_F64, 1e-13 },
	{ "n-body", "inputs:\n  n: int = {30}\n  P: f32[n, 4] = random\n  Y: out f32[n, 4]\n",
	  "[numthreads(1, 1, 1)]\nvoid masses(uint3 id : SV_DispatchThreadID) { mass[id.x] = P_float4[id.x].w; copied_float[id.x] "
	  "= P[4 * id.x]; }\n"
	  "[numthreads(1, 1, 1)]\nvoid k(uint3 id : SV_DispatchThreadID)\n{\n	float3 a = 0, at = P_float4[id.x].xyz;\n"
	  "	for (int j = 0; j < n; j++) {\n"
	  "		float3 d = float3(copied_float[j], P_float4[j].yz) - at;\n		float r = rsqrt(dot(d, d) + "
	  "0.01f);\n"
	  "		a += d * (mass[j] * r * r * r);\n	}\n"
	  "	Y_float4[id.x] = float4(a, sin(a.x) + pow(abs(a.y), 1.5));\n}\n",
	  "local mass = alloc({\"f32\", n}, \"mass\")\nlocal copied = alloc(4 * n, \"copied\")\n"
	  "launch(\"masses\", n, 1, {P, mass, copied})\nlaunch(\"k\", n, 1, {P, Y, mass, copied, n})\n",
	  "n=30", bodies, DTYPE_F64, 1e-12 },
	{ "attention",
	  "inputs:\n  Q: f32[16, 8] = normal\n  K: f32[16, 8] = normal\n  V: f32[16, 8] = normal\n  Y: out f32[16, 8]\n",
	  "[numthreads(16, 1, 1)]\nvoid scores(uint3 id : SV_DispatchThreadID, uint3 g : SV_GroupID, uint t : SV_GroupIndex)\n{\n"
	  "	float4x4 one = float4x4(1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1);\n"
	  "	float4 low = mul(one, K_float4[t * 2]), high = mul(K_float4[t * 2 + 1], transpose(one));\n"
	  "	S[g.x * 16 + t] = (dot(Q_float4[g.x * 2], low) + dot(Q_float4[g.x * 2 + 1], high)) * (1 / sqrt(8.0));\n}\n"
	  "[numthreads(8, 1, 1)]\nvoid k(uint3 g : SV_GroupID, uint t : SV_GroupIndex)\n{\n	float most = factors[1], sum = 0, "
	  "y = 0;\n"
	  "	for (uint i = 0; i < 16; i++) most = max(most, S[g.x * 16 + i]);\n"
	  "	for (uint j = 0; j < 16; j++) { float e = exp(S[g.x * 16 + j] - most); sum += e; y += e * V[j * 8 + t]; }\n"
	  "	Y[g.x * 8 + t] = y / sum * factors[0];\n}\n",
	  "local S = alloc({\"f32\", 16, 16}, \"S\")\nlocal factors = table(\"f32\", {1, -1e30}, \"factors\")\n"
	  "memset(S, 255)\nlaunch(\"scores\", 16, 16, {Q, K, S})\nlaunch(\"k\", 16, 8, {S, V, Y, factors})\n",
	  "", attention, DTYPE_F64, 1e-13 },
};

/* --- what is not lifted, or otherwise ----------------------------------------------------------------------------------------- */

static void test_gross(void)
{
	struct err e = ERR_INIT;
	struct truth t = { 0 }, again = { 0 };
	struct context *ctx = parse(
		"inputs:\n  Y: out f32[64]\n",
		ELEMENTS "	float step = 1;\n	while (1 + step != 1) step *= 0.5;\n	Y[id.x] = step * (id.x + 1);\n}\n",
		"launch(\"k\", 1, 64, {Y})\n");
	is_int(choose(ctx, "", &t, &e), 0, "code that asks for its precision has a truth %s", e.text);
	is_int(t.kind, TRUTH_BASELINE, "in double it means something else, so it is not lifted");
	has_str(t.why ? t.why : "", "Y differs", "the reason names the output");
	is_int(choose(ctx, "", &again, &e), 0, "the choice is remembered");
	ok(again.kind == t.kind && again.why && strcmp(again.why, t.why) == 0, "with its reason");
	truth_fini(&t);
	truth_fini(&again);
	context_free(ctx);
}

/* 24 KiB of floats fit into 32 KiB of shared memory, and doubles do not. */
static void test_shared(void)
{
	struct err e = ERR_INIT;
	struct truth t = { 0 };
	struct context *ctx = parse(
		"inputs:\n  X: f32[6144] = random\n  Y: out f32[6144]\ntune:\n  T: {16, 32, 64}\n",
		"groupshared float s[96 * T];\n[numthreads(T, 1, 1)]\nvoid k(uint3 g : SV_GroupID, uint t : SV_GroupIndex)\n{\n"
		"	for (uint i = 0; i < 96; i++) s[i * T + t] = X[g.x * 96 * T + i * T + t];\n"
		"	for (uint j = 0; j < 96; j++) Y[g.x * 96 * T + j * T + t] = s[j * T + t] * 2;\n}\n",
		"launch(\"k\", 64 // T, T, {X, Y})\n");
	int rc = choose(ctx, "T=64", &t, &e);
	ok(rc == 0 && t.kind == TRUTH_BASELINE_LIFTED, "a kernel whose doubles do not fit is lifted %s%s", e.text,
	   t.why ? t.why : "");
	char *text = rc == 0 ? params_text(t.params) : mem_str("");
	ok(strcmp(text, "T=64") != 0, "with a smaller block: %s", text);
	free(text);
	truth_fini(&t);
	context_free(ctx);
}

static void test_block(void)
{
	struct err e = ERR_INIT;
	struct truth t = { 0 };
	struct context *ctx = sample_context(SAMPLE_RIGHT), *with = NULL;
	char *text = mem_fmt("%s\n```hlsl reference\n[numthreads(BX, BY, 1)]\nvoid matmul(uint3 id : SV_DispatchThreadID) {\n"
			     "  if (id.y >= uint(n) || id.x >= uint(n)) return;\n  double acc = 0;\n"
			     "  for (int k = 0; k < n; k++) acc += double(A[id.y*n+k]) * double(B[k*n+id.x]);\n  C[id.y*n+id.x] = "
			     "float(acc);\n}\n```\n",
			     context_render(ctx));
	is_int(context_parse("block", text, &with, &e), 0, "a context with a block %s", e.text);
	is_int(choose(with, "n=64 BX=8 BY=8", &t, &e), 0, "a context with a block has a truth %s", e.text);
	is_int(t.kind, TRUTH_BLOCK_LIFTED, "its block is lifted %s", t.why ? t.why : "");
	truth_fini(&t);
	free(text);
	context_free(ctx);
	context_free(with);
}

static void test_compile(void)
{
	struct err e = ERR_INIT;
	struct truth t = { 0 };
	struct context *ctx = parse("inputs:\n  X: f32[64] = random\n  Y: out f32[64]\n",
				    ELEMENTS "	Y[id.x] = reflect(float2(X[id.x], 1), float2(0, 1)).y;\n}\n",
				    "launch(\"k\", 1, 64, {X, Y})\n");
	is_int(choose(ctx, "", &t, &e), 0, "a kernel with a function that has no form in double has a truth %s", e.text);
	is_int(t.kind, TRUTH_BASELINE, "it is the baseline as it is");
	has_str(t.why ? t.why : "", "in double it does not compile: device:4: peakd_has_no_reflect",
		"the reason names the function");
	truth_fini(&t);
	context_free(ctx);
}

/* What products may round: factors, rows of a mask that is summed over; not what an element needs one number of. */
static void test_operands(void)
{
	struct err e = ERR_INIT;
	static const struct {
		const char *what, *precision, *code;
		unsigned none; /* bit k: array k, of A, B, R, s */
	} cases[] = {
		{ "a residual and a scale of rows are no operands", "tensor:f16/f32", "v = v * s[row] + R[row * n + col];", 12 },
		{ "behind a rectifier neither", "tensor:bf16/f32", "v = max(v * s[row] + R[row * n + col], 0.0);", 12 },
		{ "a second factor is one", "tensor:f16/f32",
		  "float w = 0; for (int l = 0; l < n; l++) w += R[row * n + l] * B[l * n + col]; v = v * w * s[row];", 8 },
		{ "a sum of two numbers needs both", "tensor:f16/f32",
		  "v = v * s[row] + R[row * n + col] + R[row * n + (col + 1) % n];", 8 },
		{ "what is not read is any", "tensor:f16/f32", "", 0 },
		{ "strict arithmetic rounds none", "strict", "v = v * s[row] + R[row * n + col];", 0 },
	};
	for (size_t i = 0; i < MEM_COUNT(cases); i++) {
		struct truth t = { 0 };
		char *front = mem_fmt(
			"inputs:\n  n: int = {24}\n  A: f32[n, n] = normal\n  B: f32[n, n] = normal\n  R: f32[n, n] = normal\n"
			"  s: f32[n] = random\n  C: out f32[n, n]\nprecision: %s\n",
			cases[i].precision);
		char *code = mem_fmt("[numthreads(8, 8, 1)]\nvoid k(uint3 id : SV_DispatchThreadID)\n{\n\tint row = int(id.y), col "
				     "= int(id.x);\n"
				     "\tfloat v = 0;\n\tfor (int l = 0; l < n; l++) v += A[row * n + l] * B[l * n + col];\n\t%s\n"
				     "\tC[row * n + col] = v;\n}\n",
				     cases[i].code);
		struct context *ctx = parse(front, code, "launch(\"k\", {n / 8, n / 8}, {8, 8}, {A, B, R, s, C, n})\n");
		ok(choose(ctx, "n=24", &t, &e) == 0 && t.no_operands == cases[i].none, "%s (%llu) %s", cases[i].what,
		   (unsigned long long)t.no_operands, e.text);
		truth_fini(&t);
		context_free(ctx);
		free(front);
		free(code);
	}
}

int main(int argc, char **argv)
{
	struct err e = ERR_INIT;
	sample_worker(argc, argv);
	sample_init(&sample);
	ev = (struct eval){ .pool = sample.pool, .references = sample.references };
	if (!sample.ready) {
		SKIP(1, "no HLSL device");
	} else if (ok(eval_take_device(&ev, &sample.facts, NULL, &device, &e) == 0, "a device %s", e.text)) {
		for (size_t i = 0; i < MEM_COUNT(fixtures); i++)
			play(&fixtures[i]);
		test_gross();
		test_compile();
		test_shared();
		test_block();
		test_operands();
		pool_give(device);
	}
	sample_fini(&sample);
	return tap_done();
}
