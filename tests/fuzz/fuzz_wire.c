/* A message between the daemon and a worker, from a hostile end: the first byte says which, the rest is its body. A
 * decoded message is encoded to the same bytes again. */
#include "backends/wire/wire.h"
#include "fuzz/fuzz.h"

/* The order is that of tests/fuzz/seeds.c. */
static const struct wire_table *const tables[] = {
	&wire_hello_table,   &wire_compile_table,  &wire_compiled_table,  &wire_prepare_table,       &wire_prepared_table,
	&wire_execute_table, &wire_executed_table, &wire_output_table,    &wire_compare_table,       &wire_compared_table,
	&wire_measure_table, &wire_measured_table, &plan_table,           &wire_facts_table,         &wire_failed_table,
	&wire_pair_table,    &wire_paired_table,   &wire_energised_table, &wire_ceilings_table,      &wire_name_table,
	&wire_devices_table, &wire_content_table,  &wire_release_table,   &wire_energy_table,        &wire_target_table,
	&wire_races_table,   &wire_raced_table,    &wire_product_table,   &wire_product_found_table, &wire_counted_table,
};

/* Reads the message and writes it again. */
static int again(const struct wire_table *t, const void *bytes, size_t len, struct buf *out)
{
	struct wire_in in = { .at = bytes, .end = (const uint8_t *)bytes + len };
	void *m = mem_new(1, t->size);
	struct err e = ERR_INIT;
	int rc = wire_decode(t, &in, m, &e);
	if (rc == 0) {
		assert(t != &plan_table || plan_check(m, &e) == 0);
		wire_encode(t, m, out);
		wire_fini(t, m);
	}
	free(m);
	return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0 || data[0] >= MEM_COUNT(tables))
		return -1;
	const struct wire_table *t = tables[data[0]];
	uint8_t *body = fuzz_bytes(data + 1, size - 1);
	struct buf first = BUF_INIT, second = BUF_INIT;
	if (again(t, body, size - 1, &first) == 0) {
		assert(again(t, first.data, first.len, &second) == 0);
		assert(first.len == second.len && memcmp(first.data, second.data, first.len) == 0);
	}
	buf_fini(&first);
	buf_fini(&second);
	free(body);
	return 0;
}
