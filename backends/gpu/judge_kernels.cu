/* judge_kernels: what the judge does to arrays of gigabytes, one thread an element: gpu/judge.c launches these in the process that
 * computes references. The text is compiled in (Makefile), and a compile worker makes a binary of it; -fmad=false, so that values are
 * those of backends/values/fill.c to the last bit, and -default-device, so that its code is the same. The bound is that of core/judge/bound.c (docs/judging.md). */
typedef unsigned long long u64;
typedef unsigned u32;

size_t dtype_size(enum dtype t) { return dtype_layouts[t].size; }
bool dtype_is_float(enum dtype t) { return dtype_layouts[t].floating; }
bool dtype_is_signed(enum dtype t) { return dtype_layouts[t].is_signed; }
double dtype_roundoff(enum dtype t) { return dtype_layouts[t].roundoff; }

double dtype_smallest_normal(enum dtype t) { return dtype_element_normal(t); }

/* A buffer's logical elements where they are in memory, and how an element is read. */
struct array {
	u64 at, count, columns, ld;
	enum dtype type;
	int size;
};

enum { LIST = 64, MAP = 8, INDEX_BITS = 40 };

struct truth {
	double *y; /* what is wanted */
	float *moved, *bound;
	u64 count;
};

struct found {
	u64 judged, mismatched, nan, spread, untouched, odd, fractions;
	u64 worst; /* the largest ratio's upper bits, and its index */
	u64 first; /* the lowest index of a wrong element */
	double ratios, signs, outward, squares;
	u64 most, low, high, jump, baseline_ratio; /* as ordered bits */
	u64 causes[BOUND_CAUSES], telling, gross, first_gross, finite, infinite;
	double bounds2, values2;
	u32 listed;
	u32 map[MAP * MAP];
	u64 list[LIST];
};

__device__ static u64 thread() { return (u64)blockIdx.x * blockDim.x + threadIdx.x; }
__device__ static u64 threads() { return (u64)gridDim.x * blockDim.x; }

__device__ static const unsigned char *place(const struct array &a, u64 i)
{
	return (const unsigned char *)a.at + (i / a.columns * a.ld + i % a.columns) * a.size;
}

__device__ static double load(const struct array &a, u64 i)
{
	return dtype_element_load(a.type, place(a, i));
}

/* Doubles as integers in the same order. */
__device__ static u64 ordered(double x)
{
	u64 u = (u64)__double_as_longlong(x);
	return u >> 63 ? ~u : u | 1ull << 63;
}

/* --- filling -------------------------------------------------------------------------------------------------------------- */

/* As struct filling in backends/values/fill.c. */
struct filling {
	struct stream stream;      /* its buffer is `first` */
	struct plan_buffer first;  /* of the type that values are rounded to first */
	struct plan_buffer buffer;
	enum plan_values values;
	u64 key;
	double amplitude;
	u64 at; /* of the buffer's first element */
	struct plan_immediates immediates;
};

__noinline__ __device__ static void store(enum dtype t, double v, unsigned char *to)
{
	dtype_element_store(t, to, t == DTYPE_F16 || t == DTYPE_BF16 ? (double)(float)v : v);
}

/* Logical element i, in its type. */
__noinline__ __device__ static void make(const struct filling &f, u64 i, unsigned char *to)
{
	struct stream s = f.stream;
	unsigned char plain[8];
	enum dtype t = f.first.type;
	u64 bits = i;
	double v = 0;
	s.buffer = &f.first;
	s.immediates = &f.immediates;
	if (plan_values_whole(f.values)) {
		special_integers(&s, f.values, i, &bits, 1);
		memcpy(to, &bits, dtype_layouts[t].size);
		return;
	}
	if (f.values == PLAN_DECLARED && f.first.fill == PLAN_IOTA && !dtype_layouts[t].floating) {
		memcpy(to, &bits, dtype_layouts[t].size);
		return;
	}
	if (f.values != PLAN_DECLARED)
		special_values(&s, f.values, i, &v, 1);
	else
		stream_declared(&s, i, &v, 1);
	if (f.amplitude == 0 && t == f.buffer.type) {
		store(t, v, to);
		return;
	}
	store(t, v, plain);
	v = dtype_element_load(t, plain);
	if (f.amplitude != 0)
		v = special_moved(&s, f.values, f.key, f.amplitude, i, v);
	store(f.buffer.type, v, to);
}

/* One thread an allocated element: logical ones, and 0xFF between and behind the rows. With `found`, compares in place of writing. */
__noinline__ __device__ static void fill(const struct filling &f, struct found *found)
{
	const struct plan_buffer &b = f.buffer;
	u64 size = dtype_layouts[b.type].size, columns = (u64)b.dims[b.rank - 1], ld = (u64)b.ld, all = b.bytes / size, wrong = 0;
	u64 rows = f.stream.rows;
	for (u64 at = thread(); at < all; at += threads()) {
		unsigned char value[8] = { 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF }, *to = (unsigned char *)f.at + at * size;
		u64 row = at / ld, column = at % ld;
		if (row < rows && column < columns)
			make(f, row * columns + column, value);
		for (u64 k = 0; k < size; k++)
			if (!found)
				to[k] = value[k];
			else
				wrong += to[k] != value[k];
	}
	if (found && wrong)
		atomicAdd(&found->mismatched, wrong);
}

extern "C" __global__ void judge_fill(struct filling f) { fill(f, NULL); }
extern "C" __global__ void judge_same(struct filling f, struct found *found) { fill(f, found); }

/* --- truths --------------------------------------------------------------------------------------------------------------- */

/* limit: the largest number of the output's type. */
extern "C" __global__ void judge_keep(struct array a, struct truth t, double limit, struct found *f)
{
	double squares = 0, most = 0;
	u64 odd = 0, fractions = 0;
	for (u64 i = thread(); i < t.count; i += threads()) {
		double y = load(a, i);
		t.y[i] = y;
		t.moved[i] = 0;
		odd += !isfinite(y);
		fractions += !(y == floor(y));
		squares += isfinite(y) ? y * y : 0;
		most = fabs(y) > most && fabs(y) <= limit ? fabs(y) : most;
	}
	atomicAdd(&f->squares, squares);
	atomicMax(&f->most, ordered(most));
	if (odd)
		atomicAdd(&f->odd, odd);
	if (fractions)
		atomicAdd(&f->fractions, fractions);
}

extern "C" __global__ void judge_moved(struct array a, struct truth t)
{
	for (u64 i = thread(); i < t.count; i += threads())
		t.moved[i] = fmaxf(t.moved[i], bound_move(t.y[i], load(a, i)));
}

extern "C" __global__ void judge_absorbed(struct array a, struct truth t, int decides)
{
	for (u64 i = thread(); i < t.count; i += threads())
		t.moved[i] = decides ? bound_decided(t.y[i], load(a, i), t.moved[i]) : bound_absorbed(t.y[i], load(a, i), t.moved[i]);
}

/* The baseline's largest errors. Floats that are not negative are in the order of their bits. */
extern "C" __global__ void judge_errors(struct array a, struct truth t, struct bound_limits l, float *bins)
{
	for (u64 i = thread(); i < t.count; i += threads()) {
		double error = bound_own_error(&l.shape, t.y[i], load(a, i));
		if (isnan(error) || !isfinite(t.moved[i]) || error == 0)
			continue;
		int *bin = (int *)&bins[bound_bin(&l, t.y[i], (double)t.moved[i])], bits = __float_as_int((float)error);
		if (bits > *bin) /* most are not: spares the atomic */
			atomicMax(bin, bits);
	}
}

/* One thread a group. Without a baseline `a` is not read. Only the last call stores what is wanted: a second one needs the truth. */
extern "C" __global__ void judge_bound(struct array a, struct truth t, struct bound_limits l, const float *bins, int last, struct found *f)
{
	struct bound_tally all = { 0 };
	all.low = -INFINITY;
	all.high = INFINITY;
	all.first_gross = ~0ull;
	for (u64 group = thread(); group < bound_groups(t.count, l.fields); group += threads()) {
		int n = 0;
		double y[BOUND_GROUP];
		float moved[BOUND_GROUP], kappa[BOUND_GROUP];
		for (; n < BOUND_GROUP && bound_member(l.fields, group, n) < t.count; n++) {
			y[n] = t.y[bound_member(l.fields, group, n)];
			moved[n] = t.moved[bound_member(l.fields, group, n)];
		}
		double scale = bound_smooth(l.amplitude, y, moved, n, kappa);
		for (int i = 0; i < n; i++) {
			struct bound_element x = { 0 };
			u64 at = bound_member(l.fields, group, i);
			x.y = y[i];
			x.baseline = l.has_baseline ? load(a, at) : y[i];
			x.moved = (double)moved[i];
			x.kappa = (double)kappa[i];
			x.scale = scale;
			bound_element(&l, bins, &x);
			bound_tally_add(&l, &all, &x, at);
			t.bound[at] = bound_round_up(x.bound);
			if (last)
				t.y[at] = x.value;
		}
	}
	for (int c = 0; c < BOUND_CAUSES; c++)
		if (all.causes[c])
			atomicAdd(&f->causes[c], (u64)all.causes[c]);
	atomicAdd(&f->judged, (u64)all.judged);
	atomicAdd(&f->telling, (u64)all.telling);
	if (all.gross)
		atomicAdd(&f->gross, (u64)all.gross);
	atomicMin(&f->first_gross, (u64)all.first_gross);
	atomicOr(&f->finite, (u64)all.finite);
	atomicOr(&f->infinite, (u64)all.infinite);
	atomicMax(&f->low, ordered(all.low));
	atomicMin(&f->high, ordered(all.high));
	atomicMax(&f->jump, ordered(all.jump));
	atomicMax(&f->baseline_ratio, ordered(all.baseline_ratio));
	atomicAdd(&f->bounds2, all.bounds2);
	atomicAdd(&f->values2, all.values2);
}

/* --- comparing ------------------------------------------------------------------------------------------------------------ */

extern "C" __global__ void judge_compare(struct array a, struct truth t, u32 poison, u64 rows, struct found *f)
{
	u64 judged = 0, nan = 0, spread = 0, untouched = 0, mismatched = 0, worst = 0, first = ~0ull;
	double ratios = 0, signs = 0, outward = 0;
	for (u64 i = thread(); i < t.count; i += threads()) {
		double got = load(a, i), y = t.y[i], off = fabs(got - y), ratio = 0;
		float bound = t.bound[i];
		const unsigned char *p = place(a, i);
		bool judges = !isinf(bound), same = true, wrong;
		if (isfinite(y))
			wrong = !(off <= bound);
		else
			wrong = isnan(y) ? !isnan(got) : !(got == y);
		for (int k = 0; k < a.size; k++)
			same = same && p[k] == (unsigned char)poison;
		untouched += same && (wrong || !judges);
		if (!judges)
			continue;
		judged++;
		nan += wrong && !isfinite(got);
		spread += wrong && !isfinite(got) && isfinite(y);
		if (isfinite(y) && !(off == 0)) {
			ratio = bound > 0 && isfinite(off) ? fmin(off / bound, 1e30) : 1e30;
			ratios += fmin(ratio, 16.0);
			signs += got < y ? -fmin(ratio, 16.0) : fmin(ratio, 16.0);
			outward += (got < y) == (y < 0) ? fmin(ratio, 16.0) : -fmin(ratio, 16.0);
		}
		u64 key = (u64)(__float_as_uint((float)ratio) >> 8) << INDEX_BITS | i;
		worst = key > worst ? key : worst;
		if (!wrong)
			continue;
		mismatched++;
		first = i < first ? i : first;
		u32 slot = atomicAdd(&f->listed, 1u);
		if (slot < LIST)
			f->list[slot] = i;
		atomicAdd(&f->map[i / a.columns % rows * MAP / rows * MAP + i % a.columns * MAP / a.columns], 1u);
	}
	atomicAdd(&f->ratios, ratios);
	atomicAdd(&f->signs, signs);
	atomicAdd(&f->outward, outward);
	atomicAdd(&f->judged, judged);
	atomicMax(&f->worst, worst);
	if (nan)
		atomicAdd(&f->nan, nan);
	if (spread)
		atomicAdd(&f->spread, spread);
	if (untouched)
		atomicAdd(&f->untouched, untouched);
	if (mismatched) {
		atomicAdd(&f->mismatched, mismatched);
		atomicMin(&f->first, first);
	}
}

/* What the compiler is asked for; the others come with it. */
extern "C" __global__ void judge() {}
