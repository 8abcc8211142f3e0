/* judge: see judge.h. */
#include "backends/gpu/judge.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "backends/gpu/device.h"
#include "backends/gpu/run.h"
#include "backends/values/fill.h"
#include "backends/values/special.h"
#include "backends/wire/dtype_element.h"
#include "base/mem.h"
#include "judge_kernels.h" /* generated: the text of judge_kernels.cu */

/* As in judge_kernels.cu. */
enum { BINS = 4096, BINS_PER_OCTAVE = 64, LIST = 64, INDEX_BITS = 40, BLOCK = 256, BLOCKS_PER_UNIT = 16 };

struct array {
	uint64_t at, count, columns, ld;
	enum dtype type;
	int size;
};

struct filling {
	struct stream stream;
	struct plan_buffer first, buffer;
	enum plan_values values;
	bool special;
	uint64_t key;
	double amplitude;
	uint64_t at;
};

struct truth {
	gpu_address y, kappa, bound;
	uint64_t count;
};

struct found {
	uint64_t judged, mismatched, nan, untouched, odd_nan, odd_infinite, worst, first;
	double ratios, signs, sum, squares;
	uint64_t low, high;
	uint32_t listed, map[WIRE_MAP * WIRE_MAP];
	uint64_t list[LIST];
	uint32_t bins[BINS], bins_own[BINS];
	double gross;
};

struct limits {
	double inputs, sums, growth, growth_own, least, smallest_normal;
	int fraction;
};

struct kept {
	char hash[65];
	uint64_t bytes, used;
	struct truth truth;
	double squares; /* of the finite y*, summed */
	uint64_t finite, odd;
};

enum kernel { FILL, SAME, KEEP, MOVED, OWN, BOUND, COMPARE, KERNELS };

struct gpu_judge {
	gpu_library module;
	gpu_function kernels[KERNELS];
	gpu_address found; /* one struct found */
	struct kept *kept;
	size_t count;
	uint64_t bytes, clock;
};

/* --- kernels -------------------------------------------------------------------------------------------------------------- */

static int load(struct backend_device *d, const void *binary, size_t len, struct err *e)
{
	static const char *const names[KERNELS] = { "judge_fill", "judge_same",  "judge_keep",   "judge_moved",
						    "judge_own",  "judge_bound", "judge_compare" };
	struct gpu_judge *j;
	gpu_result result = gpu_device_use(d);
	if (d->judge)
		return 0;
	if (!len)
		return err_set(e, ERR_NOT_FOUND, "this process has no kernels of the judge yet");
	if (!d->api.share_open || !d->api.share_close)
		return err_set(e, ERR_UNSUPPORTED, "the driver cannot share memory between processes");
	j = MEM_NEW(struct gpu_judge);
	if (result == GPU_SUCCESS)
		result = d->api.module_load(&j->module, binary);
	for (int k = 0; k < KERNELS && result == GPU_SUCCESS; k++)
		result = d->api.module_function(&j->kernels[k], j->module, names[k]);
	if (result == GPU_SUCCESS)
		result = d->api.memory_alloc(&j->found, sizeof(struct found));
	d->judge = j;
	return result == GPU_SUCCESS ? 0 : gpu_device_fail(d, result, "loading the judge's kernels", e);
}

static void truth_fini(struct backend_device *d, struct kept *k)
{
	const gpu_address at[] = { k->truth.y, k->truth.kappa, k->truth.bound };
	for (size_t i = 0; i < MEM_COUNT(at); i++)
		if (at[i])
			d->api.memory_free(at[i]);
	d->judge->bytes -= k->bytes;
}

void gpu_judge_free(struct backend_device *d)
{
	struct gpu_judge *j = d->judge;
	if (!j)
		return;
	for (size_t i = 0; i < j->count; i++)
		truth_fini(d, &j->kept[i]);
	if (j->found)
		d->api.memory_free(j->found);
	if (j->module)
		d->api.module_unload(j->module);
	free(j->kept);
	free(j);
	d->judge = NULL;
}

/* Runs a kernel over `count` elements. With `found`, that is cleared before and copied to it after. */
static int start(struct backend_device *d, enum kernel kernel, uint64_t count, void **args, struct found *found, struct err *e)
{
	uint64_t blocks = (count + BLOCK - 1) / BLOCK, most = (uint64_t)d->facts.units * BLOCKS_PER_UNIT;
	unsigned grid = (unsigned)(blocks < most ? blocks : most);
	gpu_result result = gpu_device_use(d);
	if (found) {
		*found = (struct found){ .low = UINT64_MAX, .first = UINT64_MAX };
		if (result == GPU_SUCCESS)
			result = d->api.copy_in(d->judge->found, found, sizeof *found, d->stream);
	}
	if (result == GPU_SUCCESS && grid)
		result = d->api.launch(d->judge->kernels[kernel], grid, 1, 1, BLOCK, 1, 1, 0, d->stream, args, NULL);
	if (result == GPU_SUCCESS && found)
		result = d->api.copy_out(found, d->judge->found, sizeof *found, d->stream);
	if (result == GPU_SUCCESS)
		result = d->api.stream_wait(d->stream);
	return result == GPU_SUCCESS ? 0 : gpu_device_fail(d, result, "judging on the device", e);
}

static struct array array_of(const struct backend_run *run, unsigned buffer)
{
	const struct plan_buffer *b = &run->plan->buffers[buffer];
	return (struct array){ .at = run->sets[run->current].buffers[buffer],
			       .count = plan_buffer_logical(b),
			       .columns = (uint64_t)b->dims[b->rank - 1],
			       .ld = (uint64_t)b->ld,
			       .type = b->type,
			       .size = (int)dtype_size(b->type) };
}

/* --- sharing -------------------------------------------------------------------------------------------------------------- */

static int share(struct backend_run *run, unsigned buffer, struct wire_share *ret_share, struct err *e)
{
	const struct backend_device *d = run->device;
	const struct gpu_set *s = &run->sets[run->current];
	struct gpu_handle handle;
	gpu_result result = gpu_device_use(d);
	if (!d->api.share_get)
		return err_set(e, ERR_UNSUPPORTED, "the driver cannot share memory between processes");
	if (result == GPU_SUCCESS)
		result = d->api.share_get(&handle, s->blocks[buffer]);
	if (result != GPU_SUCCESS)
		return gpu_device_fail(d, result, "sharing a buffer with the judge", e);
	memcpy(ret_share->handle, handle.bytes, sizeof ret_share->handle);
	ret_share->offset = s->buffers[buffer] - BACKEND_RED_ZONE - s->blocks[buffer];
	return 0;
}

static int adopt(struct backend_device *d, const struct plan *plan, const struct wire_share *shares, struct backend_run **ret_run,
		 struct err *e)
{
	struct backend_run *run = MEM_NEW(struct backend_run);
	struct gpu_set *s = &run->sets[0];
	gpu_result result = gpu_device_use(d);
	*run = (struct backend_run){ .device = d, .plan = plan, .adopted = true, .set_count = 1, .wanted = 1 };
	s->blocks = MEM_NEW_N(gpu_address, plan->buffer_count + 1);
	s->buffers = MEM_NEW_N(gpu_address, plan->buffer_count + 1);
	for (size_t i = 0; i < plan->buffer_count && result == GPU_SUCCESS; i++) {
		struct gpu_handle handle;
		memcpy(handle.bytes, shares[i].handle, sizeof handle.bytes);
		result = d->api.share_open(&s->blocks[i], handle, GPU_SHARE_LAZY_PEER);
		s->buffers[i] = s->blocks[i] + shares[i].offset + BACKEND_RED_ZONE;
	}
	if (result != GPU_SUCCESS) {
		gpu_run_free(run);
		return gpu_device_fail(d, result, "opening the candidate's buffers", e);
	}
	*ret_run = run;
	return 0;
}

/* --- filling -------------------------------------------------------------------------------------------------------------- */

static struct filling filling_of(const struct backend_run *run, unsigned buffer, const struct fill_choice *choice)
{
	const struct plan_buffer *b = &run->plan->buffers[buffer];
	struct filling f = { .first = *b, .buffer = *b, .values = choice->values, .special = special_applies(b, choice->values) };
	bool floats = dtype_is_float(b->type);
	if (floats && dtype_is_float(b->rounded))
		f.first.type = b->rounded;
	f.stream = stream_of(&f.first, choice->seed);
	f.key = stream_mix(f.stream.key + choice->perturbation);
	f.amplitude = floats && choice->perturbation ? choice->amplitude : 0;
	f.at = run->sets[run->current].buffers[buffer];
	return f;
}

static int make(struct backend_run *run, unsigned buffer, const struct fill_choice *choice, struct err *e)
{
	struct filling f = filling_of(run, buffer, choice);
	return start(run->device, FILL, f.buffer.bytes / dtype_size(f.buffer.type), (void *[]){ &f }, NULL, e);
}

static int same(struct backend_run *run, unsigned buffer, const struct fill_choice *choice, bool *ret_same, struct err *e)
{
	struct filling f = filling_of(run, buffer, choice);
	struct found found;
	int rc = start(run->device, SAME, f.buffer.bytes / dtype_size(f.buffer.type), (void *[]){ &f, &run->device->judge->found },
		       &found, e);
	*ret_same = rc == 0 && found.mismatched == 0;
	return rc;
}

/* --- truths --------------------------------------------------------------------------------------------------------------- */

static struct kept *find(const struct gpu_judge *j, const char *hash)
{
	for (size_t i = 0; j && i < j->count; i++)
		if (strcmp(j->kept[i].hash, hash) == 0) {
			j->kept[i].used = ++((struct gpu_judge *)j)->clock;
			return &j->kept[i];
		}
	return NULL;
}

static bool has(const struct backend_device *d, const char *hash)
{
	return find(d->judge, hash) != NULL;
}

static void drop(struct backend_device *d, struct kept *k)
{
	struct gpu_judge *j = d->judge;
	truth_fini(d, k);
	*k = j->kept[--j->count];
}

/* The least recently used truths go while the device has less than three times this much free. */
static void make_room(struct backend_device *d, uint64_t bytes)
{
	struct gpu_judge *j = d->judge;
	size_t left = 0, total = 0;
	while (j->count && d->api.memory_info(&left, &total) == GPU_SUCCESS && left < 3 * bytes) {
		size_t oldest = 0;
		for (size_t i = 1; i < j->count; i++)
			oldest = j->kept[i].used < j->kept[oldest].used ? i : oldest;
		drop(d, &j->kept[oldest]);
	}
}

static int new_truth(struct backend_device *d, const char *hash, uint64_t count, struct kept **ret_kept, struct err *e)
{
	struct gpu_judge *j = d->judge;
	struct kept k = { .truth.count = count, .bytes = count * (sizeof(double) + 2 * sizeof(float)), .used = ++j->clock };
	gpu_result result;
	memcpy(k.hash, hash, sizeof k.hash);
	make_room(d, k.bytes);
	result = d->api.memory_alloc(&k.truth.y, count * sizeof(double));
	if (result == GPU_SUCCESS)
		result = d->api.memory_alloc(&k.truth.kappa, count * sizeof(float));
	if (result == GPU_SUCCESS)
		result = d->api.memory_alloc(&k.truth.bound, count * sizeof(float));
	j->bytes += k.bytes;
	if (result != GPU_SUCCESS) {
		truth_fini(d, &k);
		return gpu_device_fail(d, result, "keeping the right values on the device", e);
	}
	*MEM_PUSH(j->kept, j->count) = k;
	*ret_kept = &j->kept[j->count - 1];
	return 0;
}

/* Ordered bits (judge_kernels.cu) as the double that they stand for. */
static double unordered(uint64_t u)
{
	double x;
	u = u >> 63 ? u & ~(UINT64_C(1) << 63) : ~u;
	memcpy(&x, &u, sizeof x);
	return x;
}

/* The value below which a share of the counted ratios lies; 0 when that is the first bin. */
static double quantile(const uint32_t bins[BINS], double share)
{
	double all = 0, sum = 0;
	int k = 0;
	for (int i = 0; i < BINS; i++)
		all += bins[i];
	while (k < BINS - 1 && (sum += bins[k]) < share * all)
		k++;
	return k == 0 ? 0 : exp2((double)(k + 1 - BINS / 2) / BINS_PER_OCTAVE);
}

static int keep(struct backend_device *d, const struct array *a, const struct wire_truth *step, struct wire_truth_found *ret,
		struct err *e)
{
	struct kept *k = find(d->judge, step->hash);
	struct found f;
	struct array from = *a;
	if (k)
		drop(d, k);
	int rc = new_truth(d, step->hash, a->count, &k, e);
	if (rc == 0)
		rc = start(d, KEEP, a->count, (void *[]){ &from, &k->truth, &d->judge->found }, &f, e);
	if (rc < 0)
		return rc;
	k->finite = a->count - f.odd_nan - f.odd_infinite;
	k->squares = f.squares;
	double n = k->finite ? (double)k->finite : 1;
	*ret = (struct wire_truth_found){ .elements = a->count,
					  .nan = f.odd_nan,
					  .infinite = f.odd_infinite,
					  .mean = f.sum / n,
					  .deviation = sqrt(fmax(0, f.squares / n - f.sum / n * (f.sum / n))),
					  .low = k->finite ? unordered(f.low) : NAN,
					  .high = k->finite ? unordered(f.high) : NAN };
	return 0;
}

static int bound(struct backend_device *d, struct kept *k, const struct wire_truth *step, struct wire_truth_found *ret,
		 struct err *e)
{
	enum dtype t = (enum dtype)step->type;
	double rms = k->finite ? sqrt(k->squares / (double)k->finite) : 0;
	struct limits l = { .inputs = step->inputs,
			    .sums = step->sums,
			    .growth = step->growth,
			    .growth_own = step->growth_own,
			    .smallest_normal = dtype_smallest_normal(t) * 2 * dtype_roundoff(t),
			    .least = dtype_is_float(t) ? dtype_smallest_normal(t) + 0x1p-80 * rms : 0,
			    .fraction = dtype_is_float(t) ? dtype_layouts[t].fraction : -1 };
	struct found f;
	int rc = start(d, BOUND, k->truth.count, (void *[]){ &k->truth, &l, &d->judge->found }, &f, e);
	if (rc == 0)
		*ret = (struct wire_truth_found){ .elements = k->truth.count, .judged = f.judged };
	return rc;
}

static int make_truth(struct backend_device *d, struct backend_run *run, unsigned buffer, const struct wire_truth *step,
		      struct wire_truth_found *ret, struct err *e)
{
	struct kept *k = find(d->judge, step->hash);
	struct array a = run ? array_of(run, buffer) : (struct array){ 0 };
	double amplitude = step->amplitude, sums = step->sums;
	struct found f;
	int rc = 0;
	*ret = (struct wire_truth_found){ 0 };
	if (step->step == WIRE_TRUTH_KEEP)
		return keep(d, &a, step, ret, e);
	if (!k || (run && a.count != k->truth.count))
		return err_set(e, ERR_NOT_FOUND, "the device keeps no such truth");
	ret->elements = k->truth.count;
	switch ((enum wire_truth_step)step->step) {
	case WIRE_TRUTH_MOVED: return start(d, MOVED, a.count, (void *[]){ &a, &k->truth, &amplitude }, NULL, e);
	case WIRE_TRUTH_OWN:
		rc = start(d, OWN, a.count, (void *[]){ &a, &k->truth, &sums, &d->judge->found }, &f, e);
		if (rc == 0) {
			ret->quantile = quantile(f.bins, 0.999);
			ret->quantile_own = quantile(f.bins_own, 0.999);
			ret->gross = f.gross;
		}
		return rc;
	case WIRE_TRUTH_BOUND: return bound(d, k, step, ret, e);
	case WIRE_TRUTH_DROP: drop(d, k); return 0;
	case WIRE_TRUTH_KEEP:
	case WIRE_TRUTH_STEPS: break;
	}
	return err_set(e, ERR_NETWORK, "a truth has no step %u", step->step);
}

/* --- comparing ------------------------------------------------------------------------------------------------------------ */

/* Reads one element of the output and of the truth. */
static int look(struct backend_run *run, unsigned buffer, const struct truth *t, uint64_t index, struct wire_mismatch *ret,
		struct err *e)
{
	struct backend_device *d = run->device;
	struct array a = array_of(run, buffer);
	uint64_t got[2] = { 0 };
	float limit = 0;
	gpu_result result = d->api.copy_out(got, a.at + (index / a.columns * a.ld + index % a.columns) * (uint64_t)a.size,
					    (size_t)a.size, d->stream);
	if (result == GPU_SUCCESS)
		result = d->api.copy_out(&ret->want, t->y + index * sizeof(double), sizeof(double), d->stream);
	if (result == GPU_SUCCESS)
		result = d->api.copy_out(&limit, t->bound + index * sizeof(float), sizeof(float), d->stream);
	if (result == GPU_SUCCESS)
		result = d->api.stream_wait(d->stream);
	ret->index = (int64_t)index;
	ret->got = dtype_load(run->plan->buffers[buffer].type, got);
	ret->bound = (double)limit;
	return result == GPU_SUCCESS ? 0 : gpu_device_fail(d, result, "reading an element", e);
}

static int ascending(const void *x, const void *y)
{
	uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;
	return (a > b) - (a < b);
}

/* Rows or columns of n that fall into tile k of the map. */
static double in_tile(uint64_t n, uint64_t k)
{
	return (double)(((k + 1) * n + WIRE_MAP - 1) / WIRE_MAP - (k * n + WIRE_MAP - 1) / WIRE_MAP);
}

static int compare(struct backend_run *run, unsigned buffer, const struct wire_compare *m, struct wire_compared *ret, struct err *e)
{
	struct backend_device *d = run->device;
	const struct plan_buffer *b = &run->plan->buffers[buffer];
	struct kept *k = find(d->judge, m->reference_hash);
	struct array a = array_of(run, buffer);
	uint64_t rows = b->rank > 1 ? (uint64_t)b->dims[b->rank - 2] : 1, planes = a.count / (rows * a.columns);
	uint32_t poison = m->poison;
	struct found f;
	if (!k || k->truth.count != a.count)
		return err_set(e, ERR_NOT_FOUND, "the device keeps no such truth");
	int rc = start(d, COMPARE, a.count, (void *[]){ &a, &k->truth, &poison, &rows, &d->judge->found }, &f, e);
	if (rc < 0)
		return rc;
	double judged = f.judged ? (double)f.judged : 1;
	*ret = (struct wire_compared){ .elements = a.count,
				       .judged = f.judged,
				       .mismatched = f.mismatched,
				       .nan = f.nan,
				       .untouched = f.untouched,
				       .first_untouched = -1,
				       .ref_nan = a.count - k->finite,
				       .ref_norm = sqrt(k->squares),
				       .mean_ratio = f.ratios / judged,
				       .signed_mean = f.signs / judged };
	uint32_t listed = f.listed < LIST ? f.listed : LIST;
	if (listed == LIST) /* any 64 of them; the first is known */
		f.list[0] = f.first;
	qsort(f.list, listed, sizeof f.list[0], ascending);
	for (uint32_t i = 0; i < listed && i < WIRE_MISMATCHES && rc == 0; i++)
		rc = look(run, buffer, &k->truth, f.list[i], &ret->mismatch[ret->mismatch_count++], e);
	if (rc == 0 && f.judged)
		rc = look(run, buffer, &k->truth, f.worst & ((UINT64_C(1) << INDEX_BITS) - 1), &ret->worst, e);
	double off = fabs(ret->worst.got - ret->worst.want);
	ret->worst_ratio = off == 0 ? 0 : ret->worst.bound > 0 && isfinite(off) ? off / ret->worst.bound : f.judged ? INFINITY : 0;
	ret->max_abs = isfinite(off) ? off : 0;
	for (uint64_t y = 0; y < WIRE_MAP; y++)
		for (uint64_t x = 0; x < WIRE_MAP; x++) {
			double all = (double)planes * in_tile(rows, y) * in_tile(a.columns, x);
			ret->map[y][x] = all > 0 ? (float)(f.map[y * WIRE_MAP + x] / all) : 0;
		}
	return rc;
}

const struct backend_resident gpu_judge_resident = {
	.source = (const char *)schema_file_0,
	.load = load,
	.share = share,
	.adopt = adopt,
	.make = make,
	.same = same,
	.truth = make_truth,
	.has = has,
	.compare = compare,
};
