/* wire_measure: the messages that time, compare and weigh, to bytes and back; declared in wire.h. As in wire_message.c, decoders leave
 * a message that its _fini accepts, whatever the bytes were, and free it themselves when they fail. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "backends/wire/wire.h"
#include "base/mem.h"

/* A number that the protocol bounds: anything above poisons the reader. */
static uint32_t get_below(struct wire_in *in, uint32_t limit)
{
	uint32_t v = wire_get_u32(in);
	if (v < limit)
		return v;
	in->bad = true;
	return 0;
}

/* A finite number that is not negative. */
static double get_amount(struct wire_in *in)
{
	double v = wire_get_f64(in);
	if (isfinite(v) && v >= 0)
		return v;
	in->bad = true;
	return 0;
}

static void condition_encode(const struct wire_condition *c, struct buf *out)
{
	wire_put_u32(out, c->core_mhz);
	wire_put_u32(out, c->memory_mhz);
	wire_put_u32(out, c->milliwatts);
	wire_put_u32(out, c->celsius);
	wire_put_u32(out, c->throttle);
	wire_put_u32(out, c->foreign);
	wire_put_u32(out, c->disturbed);
}

enum { CONDITION_BYTES = 7 * 4 };

static struct wire_condition condition_decode(struct wire_in *in)
{
	struct wire_condition c = { .core_mhz = wire_get_u32(in) };
	c.memory_mhz = wire_get_u32(in);
	c.milliwatts = wire_get_u32(in);
	c.celsius = wire_get_u32(in);
	c.throttle = wire_get_u32(in);
	c.foreign = wire_get_u32(in);
	c.disturbed = get_below(in, 2);
	return c;
}

/* --- measure ------------------------------------------------------------------------------------------------------ */

void wire_measure_encode(const struct wire_measure *m, struct buf *out)
{
	wire_put_u32(out, m->run);
	wire_put_u32(out, m->min_samples);
	wire_put_u32(out, m->max_samples);
	wire_put_f64(out, m->rse);
	wire_put_u64(out, m->cap_ns);
	wire_put_u64(out, m->hopeless_ns);
	wire_put_u64(out, m->warm_up_ns);
	wire_put_u32(out, m->cache);
	wire_put_u32(out, m->rests);
}

int wire_measure_decode(struct wire_in *in, struct wire_measure *ret_m, struct err *e)
{
	struct wire_measure m = { .run = wire_get_u32(in) };
	m.min_samples = wire_get_u32(in);
	m.max_samples = wire_get_u32(in);
	m.rse = wire_get_f64(in);
	m.cap_ns = wire_get_u64(in);
	m.hopeless_ns = wire_get_u64(in);
	m.warm_up_ns = wire_get_u64(in);
	m.cache = get_below(in, WIRE_FLUSHED + 1);
	m.rests = get_below(in, 2);
	if (m.min_samples < 1 || m.max_samples < m.min_samples || !(m.rse >= 0))
		in->bad = true;
	if (wire_end(in, "measure", e) < 0)
		return -ERR_NETWORK;
	*ret_m = m;
	return 0;
}

void wire_measure_fini(struct wire_measure *m)
{
	*m = (struct wire_measure){ 0 };
}

void wire_measured_encode(const struct wire_measured *m, struct buf *out)
{
	wire_put_u64(out, m->sample_count);
	for (size_t i = 0; i < m->sample_count; i++) {
		wire_put_u64(out, m->samples[i]);
		condition_encode(&m->conditions[i], out);
	}
	wire_put_u32(out, m->launches);
	wire_put_u32(out, m->hopeless);
	wire_put_u32(out, m->discarded);
	wire_put_u32(out, m->disturbed);
	wire_put_text(out, m->note ? m->note : "");
}

int wire_measured_decode(struct wire_in *in, struct wire_measured *ret_m, struct err *e)
{
	struct wire_measured m = { .sample_count = wire_get_count(in, 8 + CONDITION_BYTES) };
	m.samples = MEM_NEW_N(uint64_t, m.sample_count);
	m.conditions = MEM_NEW_N(struct wire_condition, m.sample_count);
	for (size_t i = 0; i < m.sample_count; i++) {
		m.samples[i] = wire_get_u64(in);
		m.conditions[i] = condition_decode(in);
	}
	m.launches = wire_get_u32(in);
	m.hopeless = get_below(in, 2);
	m.discarded = wire_get_u32(in);
	m.disturbed = get_below(in, 2);
	m.note = wire_get_text(in);
	int r = wire_end(in, "measured", e);
	if (r < 0)
		wire_measured_fini(&m);
	else
		*ret_m = m;
	return r;
}

void wire_measured_fini(struct wire_measured *m)
{
	free(m->samples);
	free(m->conditions);
	free(m->note);
	*m = (struct wire_measured){ 0 };
}

/* --- pair --------------------------------------------------------------------------------------------------------- */

void wire_pair_encode(const struct wire_pair *m, struct buf *out)
{
	wire_put_u32(out, m->a);
	wire_put_u32(out, m->b);
	wire_put_u32(out, m->min_pairs);
	wire_put_u32(out, m->max_pairs);
	wire_put_f64(out, m->margin);
	wire_put_u64(out, m->floor_ns);
	wire_put_f64(out, m->confidence);
	wire_put_f64(out, m->width);
	wire_put_u64(out, m->cap_ns);
	wire_put_u64(out, m->warm_up_ns);
	wire_put_u32(out, m->cold);
}

int wire_pair_decode(struct wire_in *in, struct wire_pair *ret_m, struct err *e)
{
	struct wire_pair m = { .a = wire_get_u32(in) };
	m.b = wire_get_u32(in);
	m.min_pairs = wire_get_u32(in);
	m.max_pairs = wire_get_u32(in);
	m.margin = get_amount(in);
	m.floor_ns = wire_get_u64(in);
	m.confidence = get_amount(in);
	m.width = get_amount(in);
	m.cap_ns = wire_get_u64(in);
	m.warm_up_ns = wire_get_u64(in);
	m.cold = get_below(in, 2);
	if (m.min_pairs < 2 || m.max_pairs < m.min_pairs || m.max_pairs > 100000 || m.margin <= 0 || m.confidence < 0.5 ||
	    m.confidence > 0.9999)
		in->bad = true;
	if (wire_end(in, "pair", e) < 0)
		return -ERR_NETWORK;
	*ret_m = m;
	return 0;
}

void wire_pair_fini(struct wire_pair *m)
{
	*m = (struct wire_pair){ 0 };
}

void wire_paired_encode(const struct wire_paired *m, struct buf *out)
{
	wire_put_u64(out, m->pair_count);
	for (size_t i = 0; i < m->pair_count; i++) {
		wire_put_u64(out, m->a_ns[i]);
		wire_put_u64(out, m->b_ns[i]);
		condition_encode(&m->conditions[i], out);
	}
	wire_put_u32(out, m->launches_a);
	wire_put_u32(out, m->launches_b);
	wire_put_u32(out, m->discarded);
	wire_put_u32(out, m->disturbed);
	wire_put_u32(out, m->verdict);
	wire_put_f64(out, m->margin);
	wire_put_f64(out, m->ratio);
	wire_put_f64(out, m->low);
	wire_put_f64(out, m->high);
	wire_put_text(out, m->note ? m->note : "");
}

int wire_paired_decode(struct wire_in *in, struct wire_paired *ret_m, struct err *e)
{
	struct wire_paired m = { .pair_count = wire_get_count(in, 16 + CONDITION_BYTES) };
	m.a_ns = MEM_NEW_N(uint64_t, m.pair_count);
	m.b_ns = MEM_NEW_N(uint64_t, m.pair_count);
	m.conditions = MEM_NEW_N(struct wire_condition, m.pair_count);
	for (size_t i = 0; i < m.pair_count; i++) {
		m.a_ns[i] = wire_get_u64(in);
		m.b_ns[i] = wire_get_u64(in);
		m.conditions[i] = condition_decode(in);
	}
	m.launches_a = wire_get_u32(in);
	m.launches_b = wire_get_u32(in);
	m.discarded = wire_get_u32(in);
	m.disturbed = get_below(in, 2);
	m.verdict = (enum wire_verdict)get_below(in, WIRE_UNCLEAR + 1);
	m.margin = get_amount(in);
	m.ratio = get_amount(in);
	m.low = get_amount(in);
	m.high = get_amount(in);
	m.note = wire_get_text(in);
	int r = wire_end(in, "paired", e);
	if (r < 0)
		wire_paired_fini(&m);
	else
		*ret_m = m;
	return r;
}

void wire_paired_fini(struct wire_paired *m)
{
	free(m->a_ns);
	free(m->b_ns);
	free(m->conditions);
	free(m->note);
	*m = (struct wire_paired){ 0 };
}

/* --- energy ------------------------------------------------------------------------------------------------------- */

void wire_energy_encode(const struct wire_energy *m, struct buf *out)
{
	wire_put_u32(out, m->run);
	wire_put_u64(out, m->min_ns);
}

int wire_energy_decode(struct wire_in *in, struct wire_energy *ret_m, struct err *e)
{
	struct wire_energy m = { .run = wire_get_u32(in) };
	m.min_ns = wire_get_u64(in);
	if (wire_end(in, "energy", e) < 0)
		return -ERR_NETWORK;
	*ret_m = m;
	return 0;
}

void wire_energy_fini(struct wire_energy *m)
{
	*m = (struct wire_energy){ 0 };
}

void wire_energised_encode(const struct wire_energised *m, struct buf *out)
{
	wire_put_u64(out, m->executions);
	wire_put_f64(out, m->seconds);
	wire_put_f64(out, m->joules);
	condition_encode(&m->condition, out);
	wire_put_text(out, m->note ? m->note : "");
}

int wire_energised_decode(struct wire_in *in, struct wire_energised *ret_m, struct err *e)
{
	struct wire_energised m = { .executions = wire_get_u64(in) };
	m.seconds = get_amount(in);
	m.joules = get_amount(in);
	m.condition = condition_decode(in);
	m.note = wire_get_text(in);
	int r = wire_end(in, "energised", e);
	if (r < 0)
		wire_energised_fini(&m);
	else
		*ret_m = m;
	return r;
}

void wire_energised_fini(struct wire_energised *m)
{
	free(m->note);
	*m = (struct wire_energised){ 0 };
}

/* --- ceilings ----------------------------------------------------------------------------------------------------- */

void wire_ceilings_encode(const struct wire_ceilings *m, struct buf *out)
{
	wire_put_u64(out, m->count);
	for (size_t i = 0; i < m->count; i++) {
		wire_put_text(out, m->at[i].name);
		wire_put_text(out, m->at[i].unit);
		wire_put_f64(out, m->at[i].work);
		wire_put_text(out, m->at[i].device);
		plan_encode(m->at[i].plan, out);
	}
}

int wire_ceilings_decode(struct wire_in *in, struct wire_ceilings *ret_m, struct err *e)
{
	struct wire_ceilings m = { 0 };
	int r = 0;
	size_t count = wire_get_count(in, 3 * 8 + 8 + 3 * 8);
	m.at = MEM_NEW_N(struct wire_ceiling, count + 1);
	for (; r == 0 && m.count < count && !in->bad; m.count++) {
		struct wire_ceiling *c = &m.at[m.count];
		c->name = wire_get_text(in);
		c->unit = wire_get_text(in);
		c->work = get_amount(in);
		c->device = wire_get_text(in);
		r = plan_decode(in, &c->plan, e);
	}
	if (r == 0)
		r = wire_end(in, "ceilings", e);
	if (r < 0)
		wire_ceilings_fini(&m);
	else
		*ret_m = m;
	return r;
}

void wire_ceilings_fini(struct wire_ceilings *m)
{
	for (size_t i = 0; i < m->count; i++) {
		free(m->at[i].name);
		free(m->at[i].unit);
		free(m->at[i].device);
		plan_free(m->at[i].plan);
	}
	free(m->at);
	*m = (struct wire_ceilings){ 0 };
}
