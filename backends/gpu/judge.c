/* judge: see run.h. */
#include "backends/gpu/run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "backends/values/compare.h"
#include "backends/values/fill.h"
#include "backends/values/special.h"
#include "backends/wire/bound_element.h"
#include "backends/wire/dtype_element.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/order.h"
#include "judge_kernels.h" /* generated: the text of judge_kernels.cu */

/* As in judge_kernels.cu. */
enum { LIST = 64, INDEX_BITS = 40, BLOCK = 256, BLOCKS_PER_UNIT = 16 };

struct array {
	uint64_t at, count, columns, ld;
	enum dtype type;
	int size;
};

struct filling {
	struct stream stream;
	struct plan_buffer first, buffer;
	enum plan_values values;
	uint64_t key;
	double amplitude;
	uint64_t at;
	struct plan_immediates immediates;
};

struct truth {
	gpu_address y, moved, bound;
	uint64_t count;
};

/* More than 20 fields: all that a pass over an output counts. */
struct found {
	uint64_t judged, mismatched, nan, spread, untouched, odd, fractions, worst, first;
	double ratios, signs, outward, squares;
	uint64_t most, low, high, jump, baseline_ratio;
	uint64_t causes[BOUND_CAUSES], telling, gross, first_gross, finite, infinite;
	double bounds2, values2;
	uint32_t listed, map[WIRE_MAP * WIRE_MAP];
	uint64_t list[LIST];
};

struct kept {
	char hash[65];
	uint64_t bytes, used;
	struct truth truth;
	double squares, most; /* of the finite y*: summed; the largest that the output's type holds */
	uint64_t odd;         /* elements of y* that are not finite */
};

enum kernel { FILL, SUM, KEEP, MOVED, ABSORBED, ERRORS, BOUND, COMPARE, KERNELS };

struct gpu_judge {
	gpu_library module;
	gpu_function kernels[KERNELS];
	gpu_address found; /* one struct found */
	gpu_address bins;  /* BOUND_BINS floats */
	struct kept *kept;
	size_t count;
	uint64_t bytes, clock;
	uint64_t key; /* of judge_sum */
};

/* --- kernels -------------------------------------------------------------------------------------------------------------- */

static int load(struct backend_device *d, const void *binary, size_t len, struct err *e)
{
	static const char *const names[KERNELS] = { "judge_fill",     "judge_sum",    "judge_keep",  "judge_moved",
						    "judge_absorbed", "judge_errors", "judge_bound", "judge_compare" };
	struct gpu_judge *j;
	gpu_result result;
	if (d->judge)
		return 0;
	if (!len)
		return err_set(e, ERR_NOT_FOUND, "the kernels that compare outputs were not loaded into this process");
	if (!d->api.share_open || !d->api.share_close)
		return err_set(e, ERR_UNSUPPORTED, "the driver cannot share memory between processes");
	j = MEM_NEW(struct gpu_judge);
	hash_random(&j->key, sizeof j->key);
	result = d->api.module_load(&j->module, binary);
	for (int k = 0; k < KERNELS && result == GPU_SUCCESS; k++)
		result = d->api.module_function(&j->kernels[k], j->module, names[k]);
	if (result == GPU_SUCCESS)
		result = d->api.memory_alloc(&j->found, sizeof(struct found));
	if (result == GPU_SUCCESS)
		result = d->api.memory_alloc(&j->bins, BOUND_BINS * sizeof(float));
	d->judge = j;
	if (result == GPU_SUCCESS)
		return 0;
	gpu_judge_free(d);
	return gpu_device_fail(d, result, "loading the judge's kernels", e);
}

static void truth_fini(struct backend_device *d, struct kept *k)
{
	const gpu_address at[] = { k->truth.y, k->truth.moved, k->truth.bound };
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
	if (j->bins)
		d->api.memory_free(j->bins);
	if (j->module)
		d->api.module_unload(j->module);
	free(j->kept);
	free(j);
	d->judge = NULL;
}

/* Runs a kernel over `count` elements. With `found`, that is cleared before and copied to it after; without, nothing is
 * waited for. */
static int start(struct backend_device *d, enum kernel kernel, uint64_t count, void **args, struct found *found, struct err *e)
{
	uint64_t blocks = (count + BLOCK - 1) / BLOCK, most = (uint64_t)d->facts.units * BLOCKS_PER_UNIT;
	unsigned grid = (unsigned)(blocks < most ? blocks : most);
	gpu_result result = GPU_SUCCESS;
	if (found) {
		*found = (struct found){ .high = UINT64_MAX, .first = UINT64_MAX, .first_gross = UINT64_MAX };
		result = d->api.copy_in(d->judge->found, found, sizeof *found, d->stream);
	}
	if (result == GPU_SUCCESS && grid)
		result = d->api.launch(d->judge->kernels[kernel], grid, 1, 1, BLOCK, 1, 1, 0, d->stream, args, NULL);
	if (result == GPU_SUCCESS && found)
		result = d->api.copy_out(found, d->judge->found, sizeof *found, d->stream);
	if (result == GPU_SUCCESS && found)
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
	gpu_result result;
	if (!d->api.share_get)
		return err_set(e, ERR_UNSUPPORTED, "the driver cannot share memory between processes");
	result = d->api.share_get(&handle, s->blocks[buffer]);
	if (result != GPU_SUCCESS)
		return gpu_device_fail(d, result, "sharing a buffer with the judge", e);
	memcpy(ret_share->handle, handle.bytes, sizeof ret_share->handle);
	ret_share->offset = s->buffers[buffer] - s->blocks[buffer];
	return 0;
}

static int adopt(struct backend_device *d, const struct plan *plan, const struct wire_share *shares, struct backend_run **ret_run,
		 struct err *e)
{
	struct backend_run *run = MEM_NEW(struct backend_run);
	struct gpu_set *s = &run->sets[0];
	gpu_result result = GPU_SUCCESS;
	*run = (struct backend_run){ .device = d, .plan = plan, .adopted = shares != NULL, .set_count = shares != NULL };
	if (shares == NULL) {
		int rc = gpu_run_add_set(run, e);
		run->set_count = 1;
		if (rc < 0)
			gpu_run_free(run);
		else
			*ret_run = run;
		return rc;
	}
	s->blocks = MEM_NEW_N(gpu_address, plan->buffer_count + 1);
	s->buffers = MEM_NEW_N(gpu_address, plan->buffer_count + 1);
	for (size_t i = 0; i < plan->buffer_count && result == GPU_SUCCESS; i++) {
		struct gpu_handle handle;
		memcpy(handle.bytes, shares[i].handle, sizeof handle.bytes);
		result = d->api.share_open(&s->blocks[i], handle, GPU_SHARE_LAZY_PEER);
		s->buffers[i] = s->blocks[i] + shares[i].offset;
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
	struct filling f = { .first = *b, .buffer = *b, .values = fill_values(b, choice) };
	bool floats = dtype_is_float(b->type);
	if (floats && dtype_is_float(b->rounded))
		f.first.type = b->rounded;
	f.stream = stream_of(&f.first, fill_seed(b, choice));
	f.key = special_key(&f.stream, choice->values, choice->seed, choice->perturbation);
	f.amplitude = floats && choice->perturbation ? choice->amplitude : 0;
	f.at = run->sets[run->current].buffers[buffer];
	f.immediates = choice->immediates;
	return f;
}

static int sum_of(const struct backend_run *run, unsigned buffer, uint64_t *ret_sum, struct err *e)
{
	struct backend_device *d = run->device;
	uint64_t at = run->sets[run->current].buffers[buffer], bytes = run->plan->buffers[buffer].bytes;
	struct found found;
	int rc = start(d, SUM, bytes / 8 + 1, (void *[]){ &at, &bytes, &d->judge->key, &d->judge->found }, &found, e);
	*ret_sum = found.judged;
	return rc;
}

static int make(struct backend_run *run, unsigned buffer, const struct fill_choice *choice, struct err *e)
{
	struct filling f = filling_of(run, buffer, choice);
	struct gpu_set *s = &run->sets[run->current];
	gpu_address writes = 0;
	int rc = start(run->device, FILL, f.buffer.bytes / dtype_size(f.buffer.type), (void *[]){ &f, &writes }, NULL, e);
	if (rc < 0 || choice->perturbation) /* nobody asks whether perturbed inputs were changed */
		return rc;
	if (!s->sums)
		s->sums = MEM_NEW_N(struct gpu_sum, run->plan->buffer_count);
	rc = sum_of(run, buffer, &s->sums[buffer].sum, e);
	s->sums[buffer].choice = *choice;
	s->sums[buffer].known = rc == 0;
	return rc;
}

/* Values are made again only where they were not made here last; otherwise their sum tells, which takes a tenth of the time. */
static int same(struct backend_run *run, unsigned buffer, const struct fill_choice *choice, bool *ret_same, struct err *e)
{
	const struct gpu_set *s = &run->sets[run->current];
	const struct gpu_sum *made = s->sums ? &s->sums[buffer] : NULL;
	uint64_t sum;
	int rc;
	if (made && made->known && memcmp(&made->choice, choice, sizeof *choice) == 0) {
		rc = sum_of(run, buffer, &sum, e);
		*ret_same = rc == 0 && sum == made->sum;
		return rc;
	}
	struct filling f = filling_of(run, buffer, choice);
	struct found found;
	rc = start(run->device, FILL, f.buffer.bytes / dtype_size(f.buffer.type), (void *[]){ &f, &run->device->judge->found },
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

/* Truths have a quarter of the device's memory; the least recently used ones go first. They can be made again. */
static void make_room(struct backend_device *d, uint64_t bytes)
{
	struct gpu_judge *j = d->judge;
	while (j->count && j->bytes + bytes > d->facts.memory_bytes / 4) {
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
		result = d->api.memory_alloc(&k.truth.moved, count * sizeof(float));
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

static int keep(struct backend_device *d, const struct array *a, const struct wire_truth *step, struct wire_truth_found *ret,
		struct err *e)
{
	struct kept *k = find(d->judge, step->hash);
	struct found f;
	struct array from = *a;
	double limit = step->limits.shape.most;
	if (k)
		drop(d, k);
	int rc = new_truth(d, step->hash, a->count, &k, e);
	if (rc == 0)
		rc = start(d, KEEP, a->count, (void *[]){ &from, &k->truth, &limit, &d->judge->found }, &f, e);
	if (rc < 0)
		return rc;
	k->odd = f.odd;
	k->squares = f.squares;
	k->most = f.most ? unordered(f.most) : 0;
	ret->most = k->most;
	ret->fractions = f.fractions;
	return 0;
}

/* The host widens the bins: there are few. */
static int join_errors(struct backend_device *d, struct err *e)
{
	float *all = MEM_NEW_N(float, BOUND_BINS), *wide = MEM_NEW_N(float, BOUND_BINS);
	gpu_result result = gpu_device_read(d, all, d->judge->bins, BOUND_BINS * sizeof *all);
	bound_join_errors(all, wide);
	if (result == GPU_SUCCESS)
		result = gpu_device_write(d, d->judge->bins, wide, BOUND_BINS * sizeof *wide);
	free(all);
	free(wide);
	return result == GPU_SUCCESS ? 0 : gpu_device_fail(d, result, "joining the baseline's errors", e);
}

/* a: of the baseline's output; only read where there is one. */
static int make_bounds(struct backend_device *d, struct kept *k, struct array *a, const struct wire_truth *step,
		       struct wire_truth_found *ret, struct err *e)
{
	struct truth *t = &k->truth;
	struct bound_limits l = step->limits;
	gpu_address bins = d->judge->bins;
	struct found f;
	double n = (double)t->count;
	int last = step->rough;
	gpu_result result = d->api.memory_set(bins, 0, BOUND_BINS * sizeof(float), d->stream);
	int rc = result == GPU_SUCCESS ? 0 : gpu_device_fail(d, result, "clearing the baseline's errors", e);
	if (rc == 0 && l.has_baseline)
		rc = start(d, ERRORS, t->count, (void *[]){ a, t, &l, &bins }, NULL, e);
	if (rc == 0 && l.has_baseline)
		rc = join_errors(d, e);
	if (rc == 0)
		rc = start(d, BOUND, t->count / BOUND_GROUP + 1, (void *[]){ a, t, &l, &bins, &last, &d->judge->found }, &f, e);
	if (rc == 0 && !step->rough) {
		l.capped = bound_is_hidden((double)f.judged, (double)f.causes[BOUND_POOR], (double)f.causes[BOUND_ABSORBED], n);
		last = 1;
		rc = start(d, BOUND, t->count / BOUND_GROUP + 1, (void *[]){ a, t, &l, &bins, &last, &d->judge->found }, &f, e);
	}
	if (rc < 0)
		return rc;
	ret->tally = (struct bound_tally){ .judged = f.judged,
					   .telling = f.telling,
					   .gross = f.gross,
					   .first_gross = f.first_gross,
					   .jump = unordered(f.jump),
					   .low = unordered(f.low),
					   .high = unordered(f.high),
					   .bounds2 = f.bounds2,
					   .values2 = f.values2,
					   .baseline_ratio = unordered(f.baseline_ratio),
					   .finite = f.finite != 0,
					   .infinite = f.infinite != 0 };
	memcpy(ret->tally.causes, f.causes, sizeof f.causes);
	ret->capped = l.capped;
	return 0;
}

static int make_truth(struct backend_device *d, struct backend_run *run, unsigned buffer, const struct wire_truth *step,
		      struct wire_truth_found *ret, struct err *e)
{
	struct kept *k = d->judge ? find(d->judge, step->hash) : NULL;
	struct array a = run ? array_of(run, buffer) : (struct array){ 0 };
	*ret = (struct wire_truth_found){ .elements = a.count };
	if (!d->judge)
		return err_set(e, ERR_NOT_FOUND, "the kernels that compare outputs were not loaded into this process");
	if (step->step == WIRE_TRUTH_KEEP && run)
		return keep(d, &a, step, ret, e);
	if (step->step == WIRE_TRUTH_LOOK) {
		ret->elements = k ? k->truth.count : 0;
		return 0;
	}
	if (!k || (run && a.count != k->truth.count))
		return err_set(e, ERR_NOT_FOUND, "the device does not hold these exact outputs");
	ret->elements = k->truth.count;
	ret->most = k->most;
	switch ((enum wire_truth_step)step->step) {
	case WIRE_TRUTH_MOVED: return start(d, MOVED, a.count, (void *[]){ &a, &k->truth }, NULL, e);
	case WIRE_TRUTH_ABSORBED:
	case WIRE_TRUTH_DECIDED: {
		int decides = step->step == WIRE_TRUTH_DECIDED;
		return start(d, ABSORBED, a.count, (void *[]){ &a, &k->truth, &decides }, NULL, e);
	}
	case WIRE_TRUTH_BOUND: return make_bounds(d, k, &a, step, ret, e);
	case WIRE_TRUTH_DROP: drop(d, k); return 0;
	case WIRE_TRUTH_KEEP:
	case WIRE_TRUTH_LOOK:
	case WIRE_TRUTH_STEPS: break;
	}
	return err_set(e, ERR_INPUT, "step %u of a truth needs a run", step->step);
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
	gpu_result result =
		gpu_device_read(d, got, a.at + (index / a.columns * a.ld + index % a.columns) * (uint64_t)a.size, (size_t)a.size);
	if (result == GPU_SUCCESS)
		result = gpu_device_read(d, &ret->want, t->y + index * sizeof(double), sizeof(double));
	if (result == GPU_SUCCESS)
		result = gpu_device_read(d, &limit, t->bound + index * sizeof(float), sizeof(float));
	ret->index = (int64_t)index;
	ret->got = dtype_load(run->plan->buffers[buffer].type, got);
	ret->bound = (double)limit;
	return result == GPU_SUCCESS ? 0 : gpu_device_fail(d, result, "reading an element", e);
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
		return err_set(e, ERR_NOT_FOUND, "the device does not hold these exact outputs");
	int rc = start(d, COMPARE, a.count, (void *[]){ &a, &k->truth, &poison, &rows, &d->judge->found }, &f, e);
	if (rc < 0)
		return rc;
	double judged = f.judged ? (double)f.judged : 1;
	*ret = (struct wire_compared){ .elements = a.count,
				       .judged = f.judged,
				       .mismatched = f.mismatched,
				       .nan = f.nan,
				       .spread = f.spread,
				       .untouched = f.untouched,
				       .first_untouched = -1,
				       .ref_nan = k->odd,
				       .ref_norm = sqrt(k->squares),
				       .mean_ratio = f.ratios / judged,
				       .signed_mean = compare_signed(f.signs, f.outward, f.judged) };
	uint32_t listed = f.listed < LIST ? f.listed : LIST;
	if (listed == LIST) /* any 64 of them; the first is known */
		f.list[0] = f.first;
	qsort(f.list, listed, sizeof f.list[0], order_numbers);
	for (uint32_t i = 0; i < listed && i < WIRE_MISMATCHES && rc == 0; i++)
		rc = look(run, buffer, &k->truth, f.list[i], &ret->mismatch[ret->mismatch_count++], e);
	if (rc == 0 && f.judged)
		rc = look(run, buffer, &k->truth, f.worst & ((UINT64_C(1) << INDEX_BITS) - 1), &ret->worst, e);
	double off = fabs(ret->worst.got - ret->worst.want);
	ret->worst_ratio = off == 0 ? 0 : ret->worst.bound > 0 && isfinite(off) ? off / ret->worst.bound : f.judged ? INFINITY : 0;
	ret->max_abs = isfinite(off) ? off : 0;
	for (uint64_t y = 0; y < WIRE_MAP; y++)
		for (uint64_t x = 0; x < WIRE_MAP; x++) {
			double all = (double)(planes * compare_in_tile(rows, y) * compare_in_tile(a.columns, x));
			ret->map[y][x] = all > 0 ? (float)(f.map[y * WIRE_MAP + x] / all) : 0;
		}
	return rc;
}

const struct backend_resident gpu_judge_resident = {
	.source = (const char *)embedded_0,
	.load = load,
	.share = share,
	.adopt = adopt,
	.make = make,
	.same = same,
	.truth = make_truth,
	.has = has,
	.compare = compare,
};
