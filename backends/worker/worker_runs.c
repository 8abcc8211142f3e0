/* worker_runs: the requests about what is prepared on a worker's device: executed, looked at, timed; see worker_inside.h. */
#include "backends/worker/worker_inside.h"

#include <stdlib.h>
#include <string.h>

#include "backends/values/compare.h"
#include "base/clock.h"
#include "base/mem.h"

static int find_run(struct worker *w, uint32_t number, struct run **ret_run, struct err *e)
{
	if (number < 1 || number > WORKER_RUNS_MAX || w->runs[number - 1] == NULL)
		return err_set(e, ERR_NOT_FOUND, "this worker has no run %u; prepare it first", number);
	*ret_run = w->runs[number - 1];
	return 0;
}

static int free_slot(const struct worker *w, uint32_t *ret_slot, struct err *e)
{
	if (w->device == NULL || !w->closed)
		return err_set(e, ERR_INTERNAL, "nothing can be prepared before a device is open");
	for (uint32_t i = 0; i < WORKER_RUNS_MAX; i++)
		if (w->runs[i] == NULL) {
			*ret_slot = i;
			return 0;
		}
	return err_set(e, ERR_INTERNAL, "%d runs are prepared, which is the most; release one", WORKER_RUNS_MAX);
}

int worker_runs_prepare(struct worker *w, struct wire_in *in, struct buf *out, struct err *e)
{
	struct wire_prepare request;
	struct wire_prepared done = { 0 };
	uint32_t slot = 0;
	int64_t start = clock_now();
	int r = wire_prepare_decode(in, &request, e);
	if (r < 0)
		return r;
	r = free_slot(w, &slot, e);
	if (r == 0) {
		r = run_new(w->backend, w->device, w->room, request.binary, request.binary_len, request.plan, &w->runs[slot], e);
		request.plan = NULL;
	}
	if (r == 0) {
		done = (struct wire_prepared){ .run = slot + 1, .prepare_ns = (uint64_t)(clock_now() - start) };
		wire_prepared_encode(&done, out);
	}
	wire_prepare_fini(&request);
	return r;
}

int worker_runs_execute(struct worker *w, struct wire_in *in, struct buf *out, struct err *e)
{
	struct wire_execute request;
	struct wire_executed done;
	struct run *run = NULL;
	if (wire_execute_decode(in, &request, e) < 0 || find_run(w, request.run, &run, e) < 0 ||
	    run_execute(run, &request, w->inputs, &done, e) < 0)
		return -(int)e->code;
	wire_executed_encode(&done, out);
	return 0;
}

int worker_runs_races(struct worker *w, struct wire_in *in, struct buf *out, struct err *e)
{
	uint32_t number = wire_get_u32(in);
	uint64_t seed = wire_get_u64(in);
	struct run *run = NULL;
	char *finding = NULL;
	if (wire_end(in, "races", e) < 0 || find_run(w, number, &run, e) < 0 || run_races(run, seed, &finding, e) < 0)
		return -(int)e->code;
	wire_put_text(out, finding ? finding : "");
	free(finding);
	return 0;
}

int worker_runs_product(struct worker *w, struct wire_in *in, struct buf *out, struct err *e)
{
	struct plan_gemm g = { .a = 0 };
	struct product_found found;
	struct run *run = NULL;
	uint32_t number = wire_get_u32(in);
	g.a = wire_get_u32(in);
	g.b = wire_get_u32(in);
	g.c = wire_get_u32(in);
	uint32_t transposed = wire_get_u32(in);
	g.a_transposed = transposed & 1;
	g.b_transposed = transposed & 2;
	double tolerance = wire_get_f64(in);
	uint64_t secret = wire_get_u64(in);
	if (wire_end(in, "product", e) < 0 || find_run(w, number, &run, e) < 0 || run_product(run, &g, tolerance, secret, &found, e) < 0)
		return -(int)e->code;
	wire_put_u64(out, found.rows);
	wire_put_u64(out, found.row);
	wire_put_f64(out, found.off);
	wire_put_f64(out, found.allowed);
	return 0;
}

int worker_runs_output(struct worker *w, struct wire_in *in, struct buf *out, struct err *e)
{
	struct wire_output request;
	struct run *run = NULL;
	const struct plan_buffer *buffer;
	const void *bytes;
	size_t len;
	if (wire_output_decode(in, &request, e) < 0 || find_run(w, request.run, &run, e) < 0 ||
	    run_output(run, request.output, &bytes, &len, &buffer, e) < 0)
		return -(int)e->code;
	if (len + 8 > WIRE_BODY_MAX)
		return err_set(e, ERR_UNSUPPORTED, "output %s has %zu bytes, more than the wire carries at once", buffer->name,
		               len);
	wire_put_u64(out, len);
	w->tail = (struct wire_tail){ .bytes = bytes, .len = len };
	return 0;
}

/* The reference that came along, or the one kept by that hash; NULL when it has to be sent. */
static int find_reference(struct worker *w, const struct wire_compare *m, const void **ret_bytes, size_t *ret_len,
                          struct err *e)
{
	*ret_bytes = m->reference;
	*ret_len = m->reference_len;
	if (m->reference == NULL) {
		*ret_bytes = w->references ? cache_get(w->references, m->reference_hash, ret_len) : NULL;
		return 0;
	}
	if (strcmp(hash_array(m->reference, m->reference_len).hex, m->reference_hash) != 0)
		return err_set(e, ERR_NETWORK, "the reference does not have the hash that it was sent with");
	if (w->references) {
		void *kept = room_take(w->room, m->reference_len);
		memcpy(kept, m->reference, m->reference_len);
		*ret_bytes = cache_put(w->references, m->reference_hash, kept, m->reference_len);
	}
	return 0;
}

static int compare(struct worker *w, const struct wire_compare *m, struct wire_compared *ret_compared, struct err *e)
{
	const struct plan_buffer *buffer;
	const void *got, *want;
	size_t got_len, want_len;
	struct run *run = NULL;
	if (find_run(w, m->run, &run, e) < 0 || run_output(run, m->output, &got, &got_len, &buffer, e) < 0 ||
	    find_reference(w, m, &want, &want_len, e) < 0)
		return -(int)e->code;
	if (want == NULL) {
		*ret_compared = (struct wire_compared){ .need_reference = 1 };
		return 0;
	}
	if (want_len != got_len)
		return err_set(e, ERR_INPUT, "the reference has %zu bytes, output %s has %zu", want_len, buffer->name, got_len);
	compare_outputs(buffer, got, want, m->tolerance, m->poison, ret_compared);
	return 0;
}

int worker_runs_compare(struct worker *w, struct wire_in *in, struct buf *out, struct err *e)
{
	struct wire_compare request;
	struct wire_compared done;
	if (wire_compare_decode(in, &request, e) < 0 || compare(w, &request, &done, e) < 0)
		return -(int)e->code;
	wire_compared_encode(&done, out);
	return 0;
}

int worker_runs_measure(struct worker *w, struct wire_in *in, struct buf *out, struct err *e)
{
	struct wire_measure request;
	struct wire_measured done;
	struct run *run = NULL;
	if (wire_measure_decode(in, &request, e) < 0 || find_run(w, request.run, &run, e) < 0 ||
	    run_measure(run, &request, w->inputs, w->watch, &done, e) < 0)
		return -(int)e->code;
	wire_measured_encode(&done, out);
	wire_measured_fini(&done);
	return 0;
}

int worker_runs_pair(struct worker *w, struct wire_in *in, struct buf *out, struct err *e)
{
	struct wire_pair request;
	struct wire_paired done;
	struct run *a = NULL, *b = NULL;
	if (wire_pair_decode(in, &request, e) < 0 || find_run(w, request.a, &a, e) < 0 || find_run(w, request.b, &b, e) < 0 ||
	    run_pair(a, b, &request, w->inputs, w->watch, &done, e) < 0)
		return -(int)e->code;
	wire_paired_encode(&done, out);
	wire_paired_fini(&done);
	return 0;
}

int worker_runs_energy(struct worker *w, struct wire_in *in, struct buf *out, struct err *e)
{
	struct wire_energy request;
	struct wire_energised done;
	struct run *run = NULL;
	if (wire_energy_decode(in, &request, e) < 0 || find_run(w, request.run, &run, e) < 0 ||
	    run_energy(run, &request, w->inputs, w->watch, &done, e) < 0)
		return -(int)e->code;
	wire_energised_encode(&done, out);
	wire_energised_fini(&done);
	return 0;
}

int worker_runs_release(struct worker *w, struct wire_in *in, struct buf *out, struct err *e)
{
	uint32_t number = wire_get_u32(in);
	struct run *run = NULL;
	(void)out;
	if (wire_end(in, "release", e) < 0 || find_run(w, number, &run, e) < 0)
		return -(int)e->code;
	run_free(run);
	w->runs[number - 1] = NULL;
	return 0;
}
