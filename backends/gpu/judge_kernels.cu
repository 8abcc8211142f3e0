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

__noinline__ __device__ static u64 narrow_bits(enum dtype t, double v)
{
	u64 bits = 0;
	dtype_element_store(t, &bits, t == DTYPE_F16 || t == DTYPE_BF16 ? (double)(float)v : v);
	return bits;
}

/* An element's bytes, the lowest ones of a number; and its value. */
__device__ static u64 bits_of(enum dtype t, double v)
{
	if (t == DTYPE_F64)
		return (u64)__double_as_longlong(v);
	if (t == DTYPE_F32)
		return __float_as_uint((float)v);
	if (t == DTYPE_F16)
		return f16_bits((float)v);
	return t == DTYPE_BF16 && !isnan(v) ? bf16_bits((float)v) : narrow_bits(t, v);
}

__noinline__ __device__ static double narrow_value(enum dtype t, u64 bits) { return dtype_element_load(t, &bits); }

__device__ static double value_of(enum dtype t, u64 bits)
{
	if (t == DTYPE_F64)
		return __longlong_as_double((long long)bits);
	if (t == DTYPE_F32)
		return __uint_as_float((u32)bits);
	if (t == DTYPE_F16 && (bits & 0x7c00) != 0x7c00)
		return f16_load((uint16_t)bits);
	return t == DTYPE_BF16 ? __uint_as_float((u32)bits << 16) : narrow_value(t, bits);
}

__device__ static const unsigned char *place(const struct array &a, u64 i)
{
	return (const unsigned char *)a.at + (a.ld == a.columns ? i : i / a.columns * a.ld + i % a.columns) * a.size;
}

__device__ static double load(const struct array &a, u64 i)
{
	const unsigned char *p = place(a, i);
	if (a.type == DTYPE_F64)
		return *(const double *)p;
	if (a.type == DTYPE_F32)
		return *(const float *)p;
	return value_of(a.type, a.size == 1 ? *p : a.size == 2 ? *(const uint16_t *)p : a.size == 4 ? *(const u32 *)p : *(const u64 *)p);
}

/* Doubles as integers in the same order. */
__device__ static u64 ordered(double x)
{
	u64 u = (u64)__double_as_longlong(x);
	return u >> 63 ? ~u : u | 1ull << 63;
}

/* --- counting ------------------------------------------------------------------------------------------------------------- */

enum { BLOCK = 256, WARP = 32 };

template <typename T> __device__ static T plus(T a, T b) { return a + b; }
template <typename T> __device__ static T larger(T a, T b) { return a > b ? a : b; }
template <typename T> __device__ static T smaller(T a, T b) { return a < b ? a : b; }

/* What all threads of a block have, joined, in its first thread. So many atomics on one address as there are threads would take
 * longer than all else. Every thread of the block must come here. */
template <typename T, T (*join)(T, T)> __noinline__ __device__ static T of_block(T mine)
{
	__shared__ T parts[BLOCK / WARP];
	for (int d = WARP / 2; d; d /= 2)
		mine = join(mine, __shfl_down_sync(~0u, mine, d));
	__syncthreads(); /* the parts of the number before are read */
	if (threadIdx.x % WARP == 0)
		parts[threadIdx.x / WARP] = mine;
	__syncthreads();
	for (int w = 1; w < BLOCK / WARP; w++)
		mine = join(mine, parts[w]);
	return mine;
}

template <typename T> __device__ static void count(T *total, T mine)
{
	mine = of_block<T, plus<T>>(mine);
	if (threadIdx.x == 0 && mine != 0)
		atomicAdd(total, mine);
}

__device__ static void raise(u64 *most, u64 mine)
{
	mine = of_block<u64, larger<u64>>(mine);
	if (threadIdx.x == 0)
		atomicMax(most, mine);
}

__device__ static void lower(u64 *least, u64 mine)
{
	mine = of_block<u64, smaller<u64>>(mine);
	if (threadIdx.x == 0)
		atomicMin(least, mine);
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

/* Elements that a thread makes at once: what they share, as the choice of their kind, is then done once. */
enum { SOME = 4 };

/* n logical elements of one row, from `first` on. */
__noinline__ __device__ static void make(const struct filling &f, const struct stream &s, u64 first, int n, u64 *to)
{
	enum dtype t = f.first.type, type = f.buffer.type;
	double v[SOME];
	if (plan_values_whole(f.values)) {
		special_integers(&s, f.values, first, (uint64_t *)to, n);
		return;
	}
	if (f.values == PLAN_DECLARED && f.first.fill == PLAN_IOTA && !dtype_layouts[t].floating) {
		for (int k = 0; k < n; k++)
			to[k] = first + k;
		return;
	}
	if (f.values != PLAN_DECLARED)
		special_values(&s, f.values, first, v, n);
	else
		stream_declared(&s, first, v, n);
	for (int k = 0; k < n; k++) {
		to[k] = bits_of(t, v[k]);
		if (f.amplitude != 0)
			to[k] = bits_of(type, special_moved(&s, f.values, f.key, f.amplitude, first + k, value_of(t, to[k])));
		else if (t != type)
			to[k] = bits_of(type, value_of(t, to[k]));
	}
}

/* Whether one uniform value is an element, as of most arrays: it needs no more than its index. */
__device__ static bool is_uniform(const struct filling &f)
{
	enum dtype t = f.first.type;
	return f.values == PLAN_DECLARED && f.first.fill == PLAN_RANDOM && (t == DTYPE_F32 || t == DTYPE_F16 || t == DTYPE_BF16);
}

/* What make() makes of them. */
__device__ static u64 uniform(const struct filling &f, const struct stream &s, u64 i)
{
	enum dtype t = f.first.type, type = f.buffer.type;
	u64 bits = bits_of(t, (double)stream_uniform(&s, i));
	if (f.amplitude != 0)
		return bits_of(type, special_moved(&s, PLAN_DECLARED, f.key, f.amplitude, i, value_of(t, bits)));
	return t == type ? bits : bits_of(type, value_of(t, bits));
}

/* Writes elements, or counts those that differ. */
template <typename T> __device__ static u64 put(T *to, const u64 *value, int n, bool compares)
{
	struct alignas(SOME * sizeof(T)) together {
		T v[SOME];
	} all;
	u64 wrong = 0;
	if (n == SOME && (u64)to % sizeof all == 0 && !compares) {
		for (int k = 0; k < SOME; k++)
			all.v[k] = (T)value[k];
		*(struct together *)to = all;
	} else if (n == SOME && (u64)to % sizeof all == 0) {
		all = *(const struct together *)to;
		for (int k = 0; k < SOME; k++)
			wrong += all.v[k] != (T)value[k];
	} else {
		for (int k = 0; k < n; k++)
			if (compares)
				wrong += to[k] != (T)value[k];
			else
				to[k] = (T)value[k];
	}
	return wrong;
}

/* Of one multiprocessor. With more, rare kinds of values lack registers, and what is kept in memory instead does not fit its
 * cache. */
enum { FILL_BLOCKS = 3 };

/* All allocated elements: logical ones, and 0xFF between and behind the rows. With `found`, compares in place of writing. */
extern "C" __global__ void __launch_bounds__(BLOCK, FILL_BLOCKS)
judge_fill(const __grid_constant__ struct filling f, struct found *found)
{
	const struct plan_buffer &b = f.buffer;
	struct stream s = f.stream;
	u64 size = dtype_layouts[b.type].size, columns = (u64)b.dims[b.rank - 1], ld = (u64)b.ld, all = b.bytes / size, wrong = 0;
	s.buffer = &f.first;
	s.immediates = &f.immediates;
	for (u64 at = thread() * SOME; at < all; at += threads() * SOME) {
		u64 value[SOME], row = at / ld, column = at % ld;
		int n = all - at < SOME ? (int)(all - at) : SOME;
		unsigned char *to = (unsigned char *)f.at + at * size;
		if (row < s.rows && column + n <= columns && is_uniform(f))
			for (int k = 0; k < n; k++)
				value[k] = uniform(f, s, row * columns + column + k);
		else if (row < s.rows && column + n <= columns)
			make(f, s, row * columns + column, n, value);
		else
			for (int k = 0; k < n; k++) {
				value[k] = ~0ull;
				row = (at + k) / ld;
				column = (at + k) % ld;
				if (row < s.rows && column < columns)
					make(f, s, row * columns + column, 1, &value[k]);
			}
		wrong += size == 8   ? put((u64 *)to, value, n, found)
			 : size == 4 ? put((u32 *)to, value, n, found)
			 : size == 2 ? put((uint16_t *)to, value, n, found)
				     : put(to, value, n, found);
	}
	if (found)
		count(&found->mismatched, wrong);
}

/* A sum over memory that changes with each word of it; the candidate, which does not know the key, could not keep it. */
extern "C" __global__ void judge_sum(u64 at, u64 bytes, u64 key, struct found *f)
{
	const u64 *word = (const u64 *)at;
	u64 sum = 0, last = 0, words = bytes / 8;
	for (u64 i = thread(); i < words; i += threads())
		sum += stream_random(key ^ word[i], i);
	if (thread() == 0 && bytes % 8) {
		memcpy(&last, word + words, bytes % 8);
		sum += stream_random(key ^ last, words);
	}
	count(&f->judged, sum);
}

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
	count(&f->squares, squares);
	raise(&f->most, ordered(most));
	count(&f->odd, odd);
	count(&f->fractions, fractions);
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
		int poor = bound_group_is_poor(&l, bins, y, moved, kappa, scale, n);
		for (int i = 0; i < n; i++) {
			struct bound_element x = { 0 };
			u64 at = bound_member(l.fields, group, i);
			x.y = y[i];
			x.baseline = l.has_baseline ? load(a, at) : y[i];
			x.moved = (double)moved[i];
			x.kappa = (double)kappa[i];
			x.scale = scale;
			x.beside_poor = poor;
			bound_element(&l, bins, &x);
			bound_tally_add(&l, &all, &x, at);
			t.bound[at] = bound_round_up(x.bound);
			if (last)
				t.y[at] = x.value;
		}
	}
	for (int c = 0; c < BOUND_CAUSES; c++)
		count(&f->causes[c], (u64)all.causes[c]);
	count(&f->judged, (u64)all.judged);
	count(&f->telling, (u64)all.telling);
	count(&f->gross, (u64)all.gross);
	lower(&f->first_gross, (u64)all.first_gross);
	raise(&f->finite, (u64)all.finite);
	raise(&f->infinite, (u64)all.infinite);
	raise(&f->low, ordered(all.low));
	lower(&f->high, ordered(all.high));
	raise(&f->jump, ordered(all.jump));
	raise(&f->baseline_ratio, ordered(all.baseline_ratio));
	count(&f->bounds2, all.bounds2);
	count(&f->values2, all.values2);
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
	count(&f->ratios, ratios);
	count(&f->signs, signs);
	count(&f->outward, outward);
	count(&f->judged, judged);
	raise(&f->worst, worst);
	count(&f->nan, nan);
	count(&f->spread, spread);
	count(&f->untouched, untouched);
	count(&f->mismatched, mismatched);
	lower(&f->first, first);
}

/* What the compiler is asked for; the others come with it. */
extern "C" __global__ void judge() {}
