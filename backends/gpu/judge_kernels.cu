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

enum { WINDOW = 17, HALF = WINDOW / 2, BINS = 4096, LIST = 64, MAP = 8, INDEX_BITS = 40 };

struct truth {
	double *y;
	float *kappa, *bound;
	u64 count;
};

struct found {
	u64 judged, mismatched, nan, untouched, odd_nan, odd_infinite;
	u64 worst; /* the largest ratio's upper bits, and its index */
	u64 first; /* the lowest index of a wrong element */
	double ratios, signs, sum, squares;
	u64 low, high; /* of y*, as ordered bits */
	u32 listed;
	u32 map[MAP * MAP];
	u64 list[LIST];
	u32 bins[BINS], bins_own[BINS];
	double gross;
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
	bool special;
	u64 key;
	double amplitude;
	u64 at; /* of the buffer's first element */
};

__device__ static void store(enum dtype t, double v, unsigned char *to)
{
	dtype_element_store(t, to, t == DTYPE_F16 || t == DTYPE_BF16 ? (double)(float)v : v);
}

/* Logical element i, in its type. */
__device__ static void make(const struct filling &f, u64 i, unsigned char *to)
{
	struct stream s = f.stream;
	unsigned char plain[8];
	enum dtype t = f.first.type;
	u64 bits = i;
	double v = 0;
	s.buffer = &f.first;
	if (f.special && f.values == PLAN_INTEGERS) {
		special_integers(&s, i, &bits, 1);
		memcpy(to, &bits, dtype_layouts[t].size);
		return;
	}
	if (!f.special && f.first.fill == PLAN_IOTA && !dtype_layouts[t].floating) {
		memcpy(to, &bits, dtype_layouts[t].size);
		return;
	}
	if (f.special)
		special_values(&s, f.values, i, &v, 1);
	else
		stream_declared(&s, i, &v, 1);
	if (f.amplitude == 0 && t == f.buffer.type) {
		store(t, v, to);
		return;
	}
	store(t, v, plain);
	v = dtype_element_load(t, plain);
	if (f.amplitude > 0) {
		v *= 1 + f.amplitude * (2 * stream_unit(stream_random(f.key, i)) - 1);
		if (f.buffer.closed)
			v = !(v >= f.buffer.least) ? f.buffer.least : !(v <= f.buffer.most) ? f.buffer.most : v;
	}
	store(f.buffer.type, v, to);
}

/* One thread an allocated element: logical ones, and 0xFF between and behind the rows. With `found`, compares in place of writing. */
__device__ static void fill(const struct filling &f, struct found *found)
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

extern "C" __global__ void judge_keep(struct array a, struct truth t, struct found *f)
{
	double sum = 0, squares = 0;
	u64 low = ~0ull, high = 0, nan = 0, infinite = 0;
	for (u64 i = thread(); i < t.count; i += threads()) {
		double y = load(a, i);
		t.y[i] = y;
		t.kappa[i] = 0;
		nan += isnan(y);
		infinite += isinf(y) != 0;
		if (!isfinite(y))
			continue;
		sum += y;
		squares += y * y;
		low = ordered(y) < low ? ordered(y) : low;
		high = ordered(y) > high ? ordered(y) : high;
	}
	atomicAdd(&f->sum, sum);
	atomicAdd(&f->squares, squares);
	atomicMin(&f->low, low);
	atomicMax(&f->high, high);
	if (nan)
		atomicAdd(&f->odd_nan, nan);
	if (infinite)
		atomicAdd(&f->odd_infinite, infinite);
}

/* Where a perturbation changes what an element is (NaN, infinity), it has no sensitivity: infinite. */
extern "C" __global__ void judge_moved(struct array a, struct truth t, double amplitude)
{
	for (u64 i = thread(); i < t.count; i += threads()) {
		double y = t.y[i], moved = load(a, i), k = fabs(moved - y) / amplitude;
		if (isfinite(y) != isfinite(moved))
			k = __longlong_as_double(0x7ff0000000000000ll);
		else if (!isfinite(y))
			k = 0;
		t.kappa[i] = fmaxf(t.kappa[i], (float)k);
	}
}

__device__ static float median(float *v)
{
	for (int i = 1; i < WINDOW; i++)
		for (int k = i; k > 0 && v[k - 1] > v[k]; k--) {
			float x = v[k];
			v[k] = v[k - 1];
			v[k - 1] = x;
		}
	return v[HALF];
}

/* The sensitivity of element i, made safe from luck by its neighbours, and the scale around it. */
__device__ static float smooth(const struct truth &t, u64 i, float *ret_scale)
{
	float kappa[WINDOW], relative[WINDOW], size[WINDOW];
	u64 from = i < HALF ? 0 : i - HALF;
	if (t.count >= WINDOW && from > t.count - WINDOW)
		from = t.count - WINDOW;
	for (int k = 0; k < WINDOW; k++) {
		u64 at = from + k < t.count ? from + k : t.count - 1;
		kappa[k] = t.kappa[at];
		size[k] = isfinite(t.y[at]) ? (float)fabs(t.y[at]) : 0;
		relative[k] = size[k] > 0 ? kappa[k] / size[k] : kappa[k] > 0 ? __int_as_float(0x7f800000) : 0;
	}
	float y = (float)fabs(t.y[i]), around = fminf(median(kappa), y * median(relative));
	*ret_scale = fmaxf(y, median(size));
	return fmaxf(t.kappa[i], isfinite(around) ? around : 0);
}

__device__ static int bin(double ratio)
{
	double b = ratio > 0 ? log2(ratio) * 64 + BINS / 2 : 0;
	return b < 0 ? 0 : b >= BINS ? BINS - 1 : (int)b;
}

/* How large the baseline's own error is, in units of what rounding once would make of it. */
extern "C" __global__ void judge_own(struct array a, struct truth t, double sums, struct found *f)
{
	double gross = 0;
	for (u64 i = thread(); i < t.count; i += threads()) {
		double y = t.y[i], own = load(a, i), off = fabs(own - y);
		float scale, kappa = smooth(t, i, &scale);
		if (isnan(own) != isnan(y) || (isinf(y) && own != y)) {
			t.kappa[i] = __int_as_float(0x7f800000); /* baseline and truth disagree on what this is: it judges nobody */
			continue;
		}
		if (!isfinite(y) || isinf(kappa))
			continue;
		if (off > 0 && kappa > 0)
			atomicAdd(&f->bins[bin(off / (kappa * sums))], 1u);
		else
			atomicAdd(&f->bins[0], 1u);
		if (off > 0 && y != 0)
			atomicAdd(&f->bins_own[bin(off / (fabs(y) * sums))], 1u);
		else
			atomicAdd(&f->bins_own[0], 1u);
		if (scale > 0)
			gross = fmax(gross, off / scale);
	}
	atomicMax((u64 *)&f->gross, (u64)__double_as_longlong(gross));
}

struct limits {
	double inputs, sums, growth, growth_own, least, smallest_normal;
	int fraction; /* of the output's type; -1: exact */
};

__device__ static double spacing(const struct limits &l, double y)
{
	if (l.fraction < 0 || y == 0)
		return 0;
	return ldexp(1.0, ilogb(y) - l.fraction);
}

extern "C" __global__ void judge_bound(struct truth t, struct limits l, struct found *f)
{
	u64 judged = 0;
	for (u64 i = thread(); i < t.count; i += threads()) {
		double y = t.y[i];
		float scale, kappa = smooth(t, i, &scale);
		if (isinf(kappa)) {
			t.bound[i] = __int_as_float(0x7f800000);
			continue;
		}
		if (!isfinite(y)) {
			t.bound[i] = 0;
			judged++;
			continue;
		}
		double ulp = l.fraction < 0 ? 0 : fmax(spacing(l, y), l.smallest_normal);
		double rest = kappa * (2 * l.inputs + l.growth * l.sums) + l.growth_own * l.sums * fabs(y) + l.least;
		bool judges = l.fraction < 0 || rest <= 0.05 * scale;
		t.bound[i] = judges ? (float)(ulp + rest) : __int_as_float(0x7f800000);
		judged += judges;
	}
	atomicAdd(&f->judged, judged);
}

/* --- comparing ------------------------------------------------------------------------------------------------------------ */

extern "C" __global__ void judge_compare(struct array a, struct truth t, u32 poison, u64 rows, struct found *f)
{
	u64 judged = 0, nan = 0, untouched = 0, mismatched = 0, worst = 0, first = ~0ull;
	double ratios = 0, signs = 0;
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
		nan += isnan(got) && !isnan(y);
		if (isfinite(y) && !(off == 0)) {
			ratio = bound > 0 && isfinite(off) ? fmin(off / bound, 1e30) : 1e30;
			ratios += fmin(ratio, 16.0);
			signs += got < y ? -fmin(ratio, 16.0) : fmin(ratio, 16.0);
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
	atomicAdd(&f->judged, judged);
	atomicMax(&f->worst, worst);
	if (nan)
		atomicAdd(&f->nan, nan);
	if (untouched)
		atomicAdd(&f->untouched, untouched);
	if (mismatched) {
		atomicAdd(&f->mismatched, mismatched);
		atomicMin(&f->first, first);
	}
}

/* What the compiler is asked for; the others come with it. */
extern "C" __global__ void judge() {}
