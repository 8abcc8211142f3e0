/* wire_message: the messages of wire.h to bytes and back, but for those that time (wire_measure.c); declared there. Decoders leave a message that its _fini
 * accepts, whatever the bytes were, and free it themselves when they fail. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/wire/wire.h"
#include "base/hash.h"
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

/* A text into a fixed array. */
static void get_fixed(struct wire_in *in, char *to, size_t size)
{
	char *text = wire_get_text(in);
	if (strlen(text) < size)
		memcpy(to, text, strlen(text) + 1);
	else
		in->bad = true;
	free(text);
}

static void get_hash(struct wire_in *in, char to[65])
{
	get_fixed(in, to, 65);
	if (!in->bad && !hash_valid(to))
		in->bad = true;
	if (in->bad)
		to[0] = '\0';
}

/* --- hello -------------------------------------------------------------------------------------------------------- */

void wire_hello_encode(const struct wire_hello *m, struct buf *out)
{
	wire_put_u32(out, m->version);
	wire_put_u32(out, m->pid);
	wire_put_text(out, m->lacks);
}

int wire_hello_decode(struct wire_in *in, struct wire_hello *ret_m, struct err *e)
{
	struct wire_hello m = { .version = wire_get_u32(in) };
	m.pid = wire_get_u32(in);
	if (!in->bad && m.version == WIRE_VERSION) {
		char *lacks = wire_get_text(in);
		snprintf(m.lacks, sizeof m.lacks, "%s", lacks);
		free(lacks);
		if (wire_end(in, "hello", e) < 0)
			return -ERR_NETWORK;
	}
	if (in->bad)
		return wire_end(in, "hello", e);
	if (m.version != WIRE_VERSION)
		return err_set(e, ERR_NETWORK,
		               "the worker speaks wire version %u, this daemon %d; install the same peakd on both",
		               m.version, WIRE_VERSION);
	*ret_m = m;
	return 0;
}

void wire_hello_fini(struct wire_hello *m)
{
	*m = (struct wire_hello){ 0 };
}

/* --- compile ------------------------------------------------------------------------------------------------------ */

void wire_compile_encode(const struct wire_compile *m, struct buf *out)
{
	wire_put_text(out, m->backend);
	wire_put_text(out, m->arch);
	wire_put_text(out, m->macros);
	wire_put_text(out, m->device);
	wire_put_u64(out, m->define_count);
	for (size_t i = 0; i < m->define_count; i++) {
		wire_put_text(out, m->defines[i].name);
		wire_put_text(out, m->defines[i].value);
	}
	wire_put_u64(out, m->option_count);
	for (size_t i = 0; i < m->option_count; i++)
		wire_put_text(out, m->options[i]);
	plan_encode(m->plan, out);
}

int wire_compile_decode(struct wire_in *in, struct wire_compile *ret_m, struct err *e)
{
	struct wire_compile m = { .backend = wire_get_text(in) };
	m.arch = wire_get_text(in);
	m.macros = wire_get_text(in);
	m.device = wire_get_text(in);
	m.define_count = wire_get_count(in, 16);
	m.defines = MEM_NEW_N(struct wire_define, m.define_count);
	for (size_t i = 0; i < m.define_count; i++) {
		m.defines[i].name = wire_get_text(in);
		m.defines[i].value = wire_get_text(in);
	}
	m.option_count = wire_get_count(in, 8);
	m.options = MEM_NEW_N(char *, m.option_count);
	for (size_t i = 0; i < m.option_count; i++)
		m.options[i] = wire_get_text(in);
	int r = plan_decode(in, &m.plan, e);
	if (r == 0)
		r = wire_end(in, "compile", e);
	if (r < 0)
		wire_compile_fini(&m);
	else
		*ret_m = m;
	return r;
}

void wire_compile_fini(struct wire_compile *m)
{
	free(m->backend);
	free(m->arch);
	free(m->macros);
	free(m->device);
	for (size_t i = 0; i < m->define_count; i++) {
		free(m->defines[i].name);
		free(m->defines[i].value);
	}
	free(m->defines);
	for (size_t i = 0; i < m->option_count; i++)
		free(m->options[i]);
	free(m->options);
	plan_free(m->plan);
	*m = (struct wire_compile){ 0 };
}

static void kernel_encode(const struct wire_kernel *k, struct buf *out)
{
	wire_put_text(out, k->name);
	wire_put_u32(out, k->registers);
	wire_put_u32(out, k->shared);
	wire_put_u32(out, k->spill);
	wire_put_u32(out, k->max_threads);
	for (int i = 0; i < 3; i++)
		wire_put_u32(out, k->block[i]);
}

static void kernel_decode(struct wire_in *in, struct wire_kernel *k)
{
	k->name = wire_get_text(in);
	k->registers = wire_get_u32(in);
	k->shared = wire_get_u32(in);
	k->spill = wire_get_u32(in);
	k->max_threads = wire_get_u32(in);
	for (int i = 0; i < 3; i++)
		k->block[i] = wire_get_u32(in);
}

void wire_compiled_encode(const struct wire_compiled *m, struct buf *out)
{
	wire_put_bytes(out, m->binary, m->binary_len);
	wire_put_text(out, m->log);
	wire_put_u64(out, m->kernel_count);
	for (size_t i = 0; i < m->kernel_count; i++)
		kernel_encode(&m->kernels[i], out);
	wire_put_u64(out, m->compile_ns);
}

int wire_compiled_decode(struct wire_in *in, struct wire_compiled *ret_m, struct err *e)
{
	struct wire_compiled m = { 0 };
	const void *binary = wire_get_bytes(in, &m.binary_len);
	m.binary = mem_copy(binary, m.binary_len);
	m.log = wire_get_text(in);
	m.kernel_count = wire_get_count(in, 8 + 7 * 4);
	m.kernels = MEM_NEW_N(struct wire_kernel, m.kernel_count);
	for (size_t i = 0; i < m.kernel_count; i++)
		kernel_decode(in, &m.kernels[i]);
	m.compile_ns = wire_get_u64(in);
	int r = wire_end(in, "compiled", e);
	if (r < 0)
		wire_compiled_fini(&m);
	else
		*ret_m = m;
	return r;
}

void wire_compiled_fini(struct wire_compiled *m)
{
	free(m->binary);
	free(m->log);
	for (size_t i = 0; i < m->kernel_count; i++)
		free(m->kernels[i].name);
	free(m->kernels);
	*m = (struct wire_compiled){ 0 };
}

/* --- prepare ------------------------------------------------------------------------------------------------------ */

void wire_prepare_encode(const struct wire_prepare *m, struct buf *out)
{
	wire_put_bytes(out, m->binary, m->binary_len);
	plan_encode(m->plan, out);
}

int wire_prepare_decode(struct wire_in *in, struct wire_prepare *ret_m, struct err *e)
{
	struct wire_prepare m = { 0 };
	m.binary = wire_get_bytes(in, &m.binary_len);
	int r = plan_decode(in, &m.plan, e);
	if (r == 0)
		r = wire_end(in, "prepare", e);
	if (r < 0)
		wire_prepare_fini(&m);
	else
		*ret_m = m;
	return r;
}

void wire_prepare_fini(struct wire_prepare *m)
{
	plan_free(m->plan);
	*m = (struct wire_prepare){ 0 };
}

void wire_prepared_encode(const struct wire_prepared *m, struct buf *out)
{
	wire_put_u32(out, m->run);
	wire_put_u64(out, m->prepare_ns);
}

int wire_prepared_decode(struct wire_in *in, struct wire_prepared *ret_m, struct err *e)
{
	struct wire_prepared m = { .run = wire_get_u32(in) };
	m.prepare_ns = wire_get_u64(in);
	if (wire_end(in, "prepared", e) < 0)
		return -ERR_NETWORK;
	*ret_m = m;
	return 0;
}

void wire_prepared_fini(struct wire_prepared *m)
{
	*m = (struct wire_prepared){ 0 };
}

/* --- execute ------------------------------------------------------------------------------------------------------ */

void wire_execute_encode(const struct wire_execute *m, struct buf *out)
{
	wire_put_u32(out, m->run);
	wire_put_u64(out, m->seed);
	wire_put_u32(out, m->poison);
	wire_put_u32(out, m->values);
	wire_put_u32(out, m->keep);
}

int wire_execute_decode(struct wire_in *in, struct wire_execute *ret_m, struct err *e)
{
	struct wire_execute m = { .run = wire_get_u32(in) };
	m.seed = wire_get_u64(in);
	m.poison = get_below(in, 256);
	m.values = get_below(in, PLAN_VALUES);
	m.keep = get_below(in, WIRE_KEEP_SCRATCH + WIRE_KEEP_OUTPUTS + WIRE_KEEP_RAW + WIRE_LOOK + 1);
	if (wire_end(in, "execute", e) < 0)
		return -ERR_NETWORK;
	*ret_m = m;
	return 0;
}

void wire_execute_fini(struct wire_execute *m)
{
	*m = (struct wire_execute){ 0 };
}

void wire_executed_encode(const struct wire_executed *m, struct buf *out)
{
	wire_put_u64(out, m->device_ns);
	wire_put_u32(out, m->changed_input);
	wire_put_u32(out, m->broken_zone);
}

int wire_executed_decode(struct wire_in *in, struct wire_executed *ret_m, struct err *e)
{
	struct wire_executed m = { .device_ns = wire_get_u64(in) };
	m.changed_input = wire_get_u32(in);
	m.broken_zone = wire_get_u32(in);
	int r = wire_end(in, "executed", e);
	if (r == 0)
		*ret_m = m;
	return r;
}

void wire_executed_fini(struct wire_executed *m)
{
	*m = (struct wire_executed){ 0 };
}

void wire_output_encode(const struct wire_output *m, struct buf *out)
{
	wire_put_u32(out, m->run);
	wire_put_u32(out, m->output);
}

int wire_output_decode(struct wire_in *in, struct wire_output *ret_m, struct err *e)
{
	struct wire_output m = { .run = wire_get_u32(in) };
	m.output = wire_get_u32(in);
	if (wire_end(in, "output", e) < 0)
		return -ERR_NETWORK;
	*ret_m = m;
	return 0;
}

void wire_output_fini(struct wire_output *m)
{
	*m = (struct wire_output){ 0 };
}

/* --- compare ------------------------------------------------------------------------------------------------------ */

void wire_compare_begin(const struct wire_compare *m, struct buf *out)
{
	wire_put_u32(out, m->run);
	wire_put_u32(out, m->output);
	wire_put_text(out, m->reference_hash);
	wire_put_f64(out, m->tolerance);
	wire_put_u32(out, m->poison);
	wire_put_u32(out, m->reference != NULL);
	wire_put_u64(out, m->reference ? m->reference_len : 0);
}

void wire_compare_encode(const struct wire_compare *m, struct buf *out)
{
	wire_compare_begin(m, out);
	buf_add(out, m->reference, m->reference ? m->reference_len : 0);
}

int wire_compare_decode(struct wire_in *in, struct wire_compare *ret_m, struct err *e)
{
	struct wire_compare m = { .run = wire_get_u32(in) };
	m.output = wire_get_u32(in);
	get_hash(in, m.reference_hash);
	m.tolerance = wire_get_f64(in);
	if (!isfinite(m.tolerance) || m.tolerance < 0)
		in->bad = true;
	m.poison = get_below(in, 256);
	bool given = get_below(in, 2) == 1;
	m.reference = wire_get_bytes(in, &m.reference_len);
	if (!given && m.reference_len > 0)
		in->bad = true;
	if (!given)
		m.reference = NULL;
	if (wire_end(in, "compare", e) < 0)
		return -ERR_NETWORK;
	*ret_m = m;
	return 0;
}

void wire_compare_fini(struct wire_compare *m)
{
	*m = (struct wire_compare){ 0 };
}

void wire_compared_encode(const struct wire_compared *m, struct buf *out)
{
	wire_put_u32(out, m->need_reference);
	wire_put_f64(out, m->error);
	wire_put_f64(out, m->ref_norm);
	wire_put_f64(out, m->max_abs);
	wire_put_u64(out, m->elements);
	wire_put_u64(out, m->mismatched);
	wire_put_u64(out, m->nan);
	wire_put_u64(out, m->untouched);
	wire_put_u64(out, m->ref_nan);
	wire_put_u32(out, m->mismatch_count);
	for (uint32_t i = 0; i < m->mismatch_count; i++) {
		wire_put_u64(out, (uint64_t)m->mismatch[i].index);
		wire_put_f64(out, m->mismatch[i].got);
		wire_put_f64(out, m->mismatch[i].want);
	}
	for (int y = 0; y < WIRE_MAP; y++)
		for (int x = 0; x < WIRE_MAP; x++)
			wire_put_f64(out, (double)m->map[y][x]);
}

int wire_compared_decode(struct wire_in *in, struct wire_compared *ret_m, struct err *e)
{
	struct wire_compared m = { .need_reference = get_below(in, 2) };
	m.error = wire_get_f64(in);
	m.ref_norm = wire_get_f64(in);
	m.max_abs = wire_get_f64(in);
	m.elements = wire_get_u64(in);
	m.mismatched = wire_get_u64(in);
	m.nan = wire_get_u64(in);
	m.untouched = wire_get_u64(in);
	m.ref_nan = wire_get_u64(in);
	m.mismatch_count = get_below(in, WIRE_MISMATCHES + 1);
	for (uint32_t i = 0; i < m.mismatch_count; i++) {
		m.mismatch[i].index = (int64_t)wire_get_u64(in);
		m.mismatch[i].got = wire_get_f64(in);
		m.mismatch[i].want = wire_get_f64(in);
	}
	for (int y = 0; y < WIRE_MAP; y++)
		for (int x = 0; x < WIRE_MAP; x++) {
			double share = wire_get_f64(in);
			if (!(share >= 0 && share <= 1))
				in->bad = true;
			else
				m.map[y][x] = (float)share;
		}
	if (wire_end(in, "compared", e) < 0)
		return -ERR_NETWORK;
	*ret_m = m;
	return 0;
}

void wire_compared_fini(struct wire_compared *m)
{
	*m = (struct wire_compared){ 0 };
}
