/* wire_message: the tables of the messages in wire.h: one row a field, or a run of like fields, in wire order. A row says which
 * values its fields may have; what involves several fields is checked behind the table. Another row needs another WIRE_VERSION. */
#include "backends/wire/wire.h"

#include <math.h>


/* One row a line. */
/* clang-format off */

/* --- devices ------------------------------------------------------------------------------------------------------ */

const struct wire_table wire_name_table = WIRE_TABLE("name", wire_name, NULL, WIRE_STRING(wire_name, id));

const struct wire_table wire_facts_table = WIRE_TABLE("facts", facts, NULL,
	WIRE_CHARS(facts, id),
	WIRE_CHARS(facts, backend),
	WIRE_CHARS(facts, name),
	WIRE_CHARS(facts, uuid),
	WIRE_CHARS(facts, arch),
	WIRE_CHARS(facts, driver),
	WIRE_CHARS(facts, host),
	WIRE_RUN(facts, runs, emulated),
	WIRE_RUN(facts, index, max_cluster),
	WIRE_ANY(facts, l2_bytes),
	WIRE_ANY(facts, memory_bytes),
	WIRE_RUN(facts, peak_f32, peak_bytes));

const struct wire_table wire_devices_table = WIRE_TABLE("devices", wire_devices, NULL,
	WIRE_LIST(wire_devices, at, count, &wire_facts_table));

/* --- compiling ---------------------------------------------------------------------------------------------------- */

static const struct wire_table define_table = WIRE_TABLE("define", wire_define, NULL,
	WIRE_STRING(wire_define, name), WIRE_STRING(wire_define, value));

const struct wire_table wire_compile_table = WIRE_TABLE("compile", wire_compile, NULL,
	WIRE_STRING(wire_compile, backend),
	WIRE_STRING(wire_compile, arch),
	WIRE_STRING(wire_compile, macros),
	WIRE_STRING(wire_compile, device),
	WIRE_LIST(wire_compile, defines, define_count, &define_table),
	WIRE_LIST(wire_compile, options, option_count, &wire_table_text),
	WIRE_POINTER(wire_compile, plan, &plan_table),
	WIRE_UP_TO(wire_compile, probe, WIRE_PROBES - 1),
	WIRE_UP_TO(wire_compile, disturbed, 1));

static const struct wire_table kernel_table = WIRE_TABLE("kernel", wire_kernel, NULL,
	WIRE_STRING(wire_kernel, name),
	WIRE_RUN(wire_kernel, registers, block));

static const struct wire_table immediates_table = WIRE_TABLE("immediates", wire_immediates, NULL,
	WIRE_LIST(wire_immediates, floats, float_count, &wire_table_f64),
	WIRE_LIST(wire_immediates, others, other_count, &wire_table_f64));

const struct wire_table wire_compiled_table = WIRE_TABLE("compiled", wire_compiled, NULL,
	WIRE_BYTES(wire_compiled, binary, binary_len),
	WIRE_STRING(wire_compiled, log),
	WIRE_LIST(wire_compiled, kernels, kernel_count, &kernel_table),
	WIRE_ANY(wire_compiled, compile_ns),
	WIRE_STRUCT(wire_compiled, immediates, &immediates_table));

/* --- executing ---------------------------------------------------------------------------------------------------- */

const struct wire_table wire_prepare_table = WIRE_TABLE("prepare", wire_prepare, NULL,
	WIRE_LENT(wire_prepare, binary, binary_len),
	WIRE_POINTER(wire_prepare, plan, &plan_table));

const struct wire_table wire_prepared_table = WIRE_TABLE("prepared", wire_prepared, NULL,
	WIRE_ANY(wire_prepared, run), WIRE_ANY(wire_prepared, prepare_ns));

const struct wire_table wire_release_table = WIRE_TABLE("release", wire_release, NULL, WIRE_ANY(wire_release, run));

static const struct wire_table chosen_table = WIRE_TABLE("immediates", plan_immediates, NULL,
	WIRE_UP_TO(plan_immediates, count, PLAN_IMMEDIATES_MAX),
	{ .name = "at", .kind = WIRE_IS_NUMBER, .number = WIRE_F64, .offset = offsetof(struct plan_immediates, at),
	  .count = PLAN_IMMEDIATES_MAX, .low = -DBL_MAX, .high = DBL_MAX });

const struct wire_table wire_execute_table = WIRE_TABLE("execute", wire_execute, NULL,
	WIRE_ANY(wire_execute, run),
	WIRE_ANY(wire_execute, seed),
	WIRE_UP_TO(wire_execute, poison, 0xFF),
	WIRE_UP_TO(wire_execute, values, PLAN_VALUES - 1),
	WIRE_UP_TO(wire_execute, keep, WIRE_KEEP_ALL),
	WIRE_ANY(wire_execute, perturbation),
	WIRE_BETWEEN(wire_execute, amplitude, DBL_EPSILON - 1, 1 - DBL_EPSILON),
	WIRE_ANY(wire_execute, still),
	WIRE_BETWEEN(wire_execute, share, 0, 1),
	WIRE_STRUCT(wire_execute, immediates, &chosen_table));

const struct wire_table wire_executed_table = WIRE_TABLE("executed", wire_executed, NULL,
	WIRE_ANY(wire_executed, device_ns),
	WIRE_ANY(wire_executed, changed_input),
	WIRE_ANY(wire_executed, broken_zone));

const struct wire_table wire_output_table = WIRE_TABLE("output", wire_output, NULL,
	WIRE_ANY(wire_output, run), WIRE_ANY(wire_output, output));

const struct wire_table wire_content_table = WIRE_TABLE("output content", wire_content, NULL,
	WIRE_LENT(wire_content, bytes, len));

/* --- comparing ---------------------------------------------------------------------------------------------------- */

const struct wire_table wire_compare_table = WIRE_TABLE("compare", wire_compare, NULL,
	WIRE_ANY(wire_compare, run),
	WIRE_ANY(wire_compare, output),
	WIRE_HASH(wire_compare, reference_hash),
	WIRE_UP_TO(wire_compare, poison, 0xFF),
	WIRE_UP_TO(wire_compare, want_type, DTYPE_COUNT - 1),
	WIRE_STRUCT(wire_compare, judgement, &judgement_table),
	WIRE_LENT(wire_compare, reference, reference_len));

static const struct wire_table mismatch_table = WIRE_TABLE("mismatch", wire_mismatch, NULL,
	WIRE_ANY(wire_mismatch, index),
	WIRE_RUN(wire_mismatch, got, bound));

const struct wire_table wire_compared_table = WIRE_TABLE("compared", wire_compared, NULL,
	WIRE_ANY(wire_compared, need_reference),
	WIRE_RUN(wire_compared, error, max_abs),
	WIRE_RUN(wire_compared, elements, untouched),
	WIRE_ANY(wire_compared, first_untouched),
	WIRE_ANY(wire_compared, ref_nan),
	WIRE_ANY(wire_compared, worst_ratio),
	WIRE_STRUCT(wire_compared, worst, &mismatch_table),
	WIRE_ANY(wire_compared, mean_ratio),
	WIRE_ANY(wire_compared, signed_mean),
	WIRE_UP_TO(wire_compared, mismatch_count, WIRE_MISMATCHES),
	WIRE_STRUCTS(wire_compared, mismatch, &mismatch_table),
	WIRE_CHARS(wire_compared, finding),
	WIRE_GRID(wire_compared, map, 1));

const struct wire_table wire_product_table = WIRE_TABLE("product", wire_product, NULL,
	WIRE_ANY(wire_product, run),
	WIRE_STRUCT(wire_product, gemm, &plan_op_tables[PLAN_OP_GEMM]),
	WIRE_AMOUNT(wire_product, tolerance),
	WIRE_ANY(wire_product, secret));

const struct wire_table wire_product_found_table = WIRE_TABLE("product found", wire_product_found, NULL,
	WIRE_ANY(wire_product_found, rows),
	WIRE_ANY(wire_product_found, row),
	WIRE_ANY(wire_product_found, off),
	WIRE_ANY(wire_product_found, allowed));

const struct wire_table wire_races_table = WIRE_TABLE("races", wire_races, NULL,
	WIRE_ANY(wire_races, run), WIRE_ANY(wire_races, seed), WIRE_UP_TO(wire_races, ordered, WIRE_ORDER_ROUNDS),
	WIRE_UP_TO(wire_races, values, PLAN_VALUES - 1), WIRE_STRUCT(wire_races, immediates, &chosen_table));

static const struct wire_table launch_count_table = WIRE_TABLE("count of a launch", wire_launch_count, NULL,
	WIRE_STRING(wire_launch_count, kernel),
	WIRE_RUN(wire_launch_count, groups, shared_passes));

const struct wire_table wire_counted_table = WIRE_TABLE("counted", wire_counted, NULL,
	WIRE_LIST(wire_counted, at, count, &launch_count_table));

const struct wire_table wire_raced_table = WIRE_TABLE("raced", wire_raced, NULL,
	WIRE_STRING(wire_raced, finding),
	WIRE_UP_TO(wire_raced, settled, 1));

const struct wire_table wire_split_table = WIRE_TABLE("split", wire_split, NULL, WIRE_LIST(wire_split, ns, count, &wire_table_u64));

static const struct wire_table counter_table = WIRE_TABLE("counter", wire_counter, NULL,
	WIRE_STRING(wire_counter, kernel), WIRE_STRING(wire_counter, name), WIRE_ANY(wire_counter, value));

static const struct wire_table stall_table = WIRE_TABLE("stall", wire_stall, NULL,
	WIRE_STRING(wire_stall, kernel),
	WIRE_STRING(wire_stall, region),
	WIRE_ANY(wire_stall, line),
	WIRE_STRING(wire_stall, reason),
	WIRE_ANY(wire_stall, samples));

const struct wire_table wire_counters_table = WIRE_TABLE("counters", wire_counters, NULL,
	WIRE_LIST(wire_counters, counters, counter_count, &counter_table),
	WIRE_STRING(wire_counters, counters_closed),
	WIRE_LIST(wire_counters, stalls, stall_count, &stall_table),
	WIRE_STRING(wire_counters, stalls_closed));

/* --- judging on the device ---------------------------------------------------------------------------------------- */

static const struct wire_table share_table = WIRE_TABLE("share", wire_share, NULL,
	WIRE_EACH(wire_share, handle, 0),
	WIRE_ANY(wire_share, offset));

const struct wire_table wire_shared_table = WIRE_TABLE("shared", wire_shared, NULL,
	WIRE_LIST(wire_shared, at, count, &share_table));

const struct wire_table wire_kernels_table = WIRE_TABLE("kernels", wire_kernels, NULL,
	WIRE_LENT(wire_kernels, binary, binary_len));

static int check_adopt(const void *message, struct err *e)
{
	const struct wire_adopt *m = message;
	if (m->plan && (m->count == m->plan->buffer_count || m->count == 0))
		return 0;
	return err_set(e, ERR_NETWORK, "the adopt message has %zu shares, which is not the number of the plan's buffers", m->count);
}

const struct wire_table wire_adopt_table = WIRE_TABLE("adopt", wire_adopt, check_adopt,
	WIRE_LIST(wire_adopt, at, count, &share_table),
	WIRE_POINTER(wire_adopt, plan, &plan_table));

static const struct wire_table shape_table = WIRE_TABLE("shape", bound_shape, NULL,
	WIRE_RUN_OF(bound_shape, spacing, flushed, DBL_MAX));

static const struct wire_table limits_table = WIRE_TABLE("limits", bound_limits, NULL,
	WIRE_STRUCT(bound_limits, shape, &shape_table),
	WIRE_RUN_OF(bound_limits, sums, amplitude, DBL_MAX),
	WIRE_UP_TO(bound_limits, has_baseline, 1),
	WIRE_UP_TO(bound_limits, capped, 1),
	WIRE_UP_TO(bound_limits, stops, 2),
	WIRE_UP_TO(bound_limits, shifted, 1),
	WIRE_UP_TO(bound_limits, pooled, 1),
	WIRE_UP_TO(bound_limits, few, 1),
	WIRE_UP_TO(bound_limits, mixed, 1),
	WIRE_UP_TO(bound_limits, fields, BOUND_FIELDS));

const struct wire_table wire_truth_table = WIRE_TABLE("truth", wire_truth, NULL,
	WIRE_ANY(wire_truth, run),
	WIRE_ANY(wire_truth, output),
	WIRE_UP_TO(wire_truth, step, WIRE_TRUTH_STEPS - 1),
	WIRE_HASH(wire_truth, hash),
	WIRE_STRUCT(wire_truth, limits, &limits_table),
	WIRE_UP_TO(wire_truth, rough, 1));

static const struct wire_table tally_table = WIRE_TABLE("tally", bound_tally, NULL,
	WIRE_RUN(bound_tally, causes[0], first_gross),
	WIRE_RUN(bound_tally, jump, baseline_ratio),
	WIRE_ANY(bound_tally, finite),
	WIRE_ANY(bound_tally, infinite));

const struct wire_table wire_truth_found_table = WIRE_TABLE("truth found", wire_truth_found, NULL,
	WIRE_ANY(wire_truth_found, elements),
	WIRE_ANY(wire_truth_found, most),
	WIRE_ANY(wire_truth_found, fractions),
	WIRE_ANY(wire_truth_found, capped),
	WIRE_STRUCT(wire_truth_found, tally, &tally_table));

/* --- timing ------------------------------------------------------------------------------------------------------- */

static const struct wire_table condition_table = WIRE_TABLE("condition", wire_condition, NULL,
	WIRE_RUN(wire_condition, core_mhz, foreign),
	WIRE_UP_TO(wire_condition, disturbed, 1));

static int check_measure(const void *message, struct err *e)
{
	const struct wire_measure *m = message;
	if (m->min_samples >= 1 && m->max_samples >= m->min_samples)
		return 0;
	return err_set(e, ERR_NETWORK, "the measure message asks for %u to %u samples", m->min_samples, m->max_samples);
}

const struct wire_table wire_measure_table = WIRE_TABLE("measure", wire_measure, check_measure,
	WIRE_RUN(wire_measure, run, max_samples),
	WIRE_UP_TO(wire_measure, rse, HUGE_VAL),
	WIRE_RUN(wire_measure, cap_ns, warm_up_ns),
	WIRE_UP_TO(wire_measure, cache, WIRE_HOT),
	WIRE_UP_TO(wire_measure, rests, 1),
	WIRE_LIST(wire_measure, seeds, seed_count, &wire_table_u64));

const struct wire_table wire_measured_table = WIRE_TABLE("measured", wire_measured, NULL,
	WIRE_LIST(wire_measured, samples, sample_count, &wire_table_u64),
	WIRE_BESIDE(wire_measured, conditions, sample_count, &condition_table),
	WIRE_ANY(wire_measured, launches),
	WIRE_UP_TO(wire_measured, hopeless, 1),
	WIRE_ANY(wire_measured, discarded),
	WIRE_UP_TO(wire_measured, disturbed, 1),
	WIRE_STRING(wire_measured, note),
	WIRE_STRING(wire_measured, reset),
	WIRE_LIST(wire_measured, left, left_count, &wire_table_u64));

static int check_pair(const void *message, struct err *e)
{
	const struct wire_pair *m = message;
	if (m->min_pairs >= 2 && m->max_pairs >= m->min_pairs && m->margin > 0)
		return 0;
	return err_set(e, ERR_NETWORK, "the pair message asks for %u to %u pairs within %g", m->min_pairs, m->max_pairs,
	               m->margin);
}

const struct wire_table wire_pair_table = WIRE_TABLE("pair", wire_pair, check_pair,
	WIRE_RUN(wire_pair, a, min_pairs),
	WIRE_UP_TO(wire_pair, max_pairs, 100000),
	WIRE_AMOUNT(wire_pair, margin),
	WIRE_ANY(wire_pair, floor_ns),
	WIRE_BETWEEN(wire_pair, confidence, 0.5, 0.9999),
	WIRE_AMOUNT(wire_pair, width),
	WIRE_ANY(wire_pair, cap_ns),
	WIRE_ANY(wire_pair, warm_up_ns),
	WIRE_UP_TO(wire_pair, cold, 1),
	WIRE_UP_TO(wire_pair, unreset, 2),
	WIRE_UP_TO(wire_pair, exchanged, 1),
	WIRE_LIST(wire_pair, seeds, seed_count, &wire_table_u64));

const struct wire_table wire_paired_table = WIRE_TABLE("paired", wire_paired, NULL,
	WIRE_LIST(wire_paired, a_ns, pair_count, &wire_table_u64),
	WIRE_BESIDE(wire_paired, b_ns, pair_count, &wire_table_u64),
	WIRE_BESIDE(wire_paired, conditions, pair_count, &condition_table),
	WIRE_RUN(wire_paired, launches_a, discarded),
	WIRE_UP_TO(wire_paired, disturbed, 1),
	WIRE_UP_TO(wire_paired, verdict, WIRE_UNCLEAR),
	WIRE_RUN_OF(wire_paired, margin, high, DBL_MAX),
	WIRE_STRING(wire_paired, note),
	WIRE_STRING(wire_paired, reset),
	WIRE_LIST(wire_paired, left_a, left_a_count, &wire_table_u64),
	WIRE_LIST(wire_paired, left_b, left_b_count, &wire_table_u64));

const struct wire_table wire_energy_table = WIRE_TABLE("energy", wire_energy, NULL,
	WIRE_ANY(wire_energy, run), WIRE_ANY(wire_energy, min_ns));

const struct wire_table wire_energised_table = WIRE_TABLE("energised", wire_energised, NULL,
	WIRE_ANY(wire_energised, executions),
	WIRE_AMOUNT(wire_energised, seconds),
	WIRE_AMOUNT(wire_energised, joules),
	WIRE_STRUCT(wire_energised, condition, &condition_table),
	WIRE_STRING(wire_energised, note));

const struct wire_table wire_target_table = WIRE_TABLE("target", wire_target, NULL,
	WIRE_STRING(wire_target, backend),
	WIRE_STRING(wire_target, arch),
	WIRE_ANY(wire_target, units),
	WIRE_ANY(wire_target, shares_cpu));

static const struct wire_table ceiling_table = WIRE_TABLE("ceiling", wire_ceiling, NULL,
	WIRE_STRING(wire_ceiling, name),
	WIRE_STRING(wire_ceiling, unit),
	WIRE_AMOUNT(wire_ceiling, work),
	WIRE_STRING(wire_ceiling, device),
	WIRE_POINTER(wire_ceiling, plan, &plan_table));

const struct wire_table wire_ceilings_table = WIRE_TABLE("ceilings", wire_ceilings, NULL,
	WIRE_LIST(wire_ceilings, at, count, &ceiling_table));

/* --- hello and failures ------------------------------------------------------------------------------------------- */

const struct wire_table wire_hello_table = WIRE_TABLE("hello", wire_hello, NULL,
	WIRE_ANY(wire_hello, version), WIRE_ANY(wire_hello, pid), WIRE_ANY(wire_hello, wall_ms),
	WIRE_CHARS(wire_hello, lacks));

void wire_hello_encode(const struct wire_hello *m, struct buf *out)
{
	wire_encode(&wire_hello_table, m, out);
}

int wire_hello_decode(struct wire_in *in, struct wire_hello *ret_m, struct err *e)
{
	struct wire_in first = *in; /* what follows the version depends on it */
	uint32_t version = wire_get_u32(&first);
	if (!first.bad && version != WIRE_VERSION)
		return err_set(e, ERR_NETWORK, "the worker speaks wire version %u, this daemon %d; install the same peakd on both",
		               version, WIRE_VERSION);
	return wire_decode(&wire_hello_table, in, ret_m, e);
}

const struct wire_table wire_failed_table = WIRE_TABLE("failed", err, NULL,
	WIRE_BETWEEN(err, code, ERR_NONE + 1, ERR_INTERNAL), WIRE_CHARS(err, text));

void wire_failed_encode(const struct err *failure, struct buf *out)
{
	wire_encode(&wire_failed_table, failure, out);
}

int wire_failed_decode(struct wire_in *in, struct err *e)
{
	struct err failure;
	int r = wire_decode(&wire_failed_table, in, &failure, e);
	return r < 0 ? r : err_set(e, failure.code, "%s", failure.text);
}

/* --- requests ----------------------------------------------------------------------------------------------------- */

const struct wire_call wire_calls[WIRE_LAST + 1] = {
	[WIRE_HELLO] = { "hello", NULL, NULL },
	[WIRE_FAILED] = { "failed", NULL, NULL },
	[WIRE_PING] = { "ping", &wire_table_empty, &wire_table_empty },
	[WIRE_DEVICES] = { "devices", &wire_name_table, &wire_devices_table },
	[WIRE_COMPILE] = { "compile", &wire_compile_table, &wire_compiled_table },
	[WIRE_OPEN] = { "open", &wire_name_table, &wire_facts_table },
	[WIRE_PREPARE] = { "prepare", &wire_prepare_table, &wire_prepared_table },
	[WIRE_EXECUTE] = { "execute", &wire_execute_table, &wire_executed_table },
	[WIRE_OUTPUT] = { "output", &wire_output_table, &wire_content_table },
	[WIRE_COMPARE] = { "compare", &wire_compare_table, &wire_compared_table },
	[WIRE_MEASURE] = { "measure", &wire_measure_table, &wire_measured_table },
	[WIRE_RELEASE] = { "release", &wire_release_table, &wire_table_empty },
	[WIRE_PAIR] = { "pair", &wire_pair_table, &wire_paired_table },
	[WIRE_ENERGY] = { "energy", &wire_energy_table, &wire_energised_table },
	[WIRE_CEILINGS] = { "ceilings", &wire_target_table, &wire_ceilings_table },
	[WIRE_RACES] = { "races", &wire_races_table, &wire_raced_table },
	[WIRE_COUNT] = { "count", &wire_races_table, &wire_counted_table },
	[WIRE_PRODUCT] = { "product", &wire_product_table, &wire_product_found_table },
	[WIRE_SHARE] = { "share", &wire_release_table, &wire_shared_table },
	[WIRE_KERNELS] = { "kernels", &wire_kernels_table, &wire_table_empty },
	[WIRE_SOURCE] = { "source", &wire_name_table, &wire_name_table },
	[WIRE_ADOPT] = { "adopt", &wire_adopt_table, &wire_prepared_table },
	[WIRE_TRUTH] = { "truth", &wire_truth_table, &wire_truth_found_table },
	[WIRE_SPLIT] = { "split", &wire_release_table, &wire_split_table },
	[WIRE_COUNTERS] = { "counters", &wire_release_table, &wire_counters_table },
};

const char *wire_type_name(enum wire_type type)
{
	return type >= WIRE_HELLO && type <= WIRE_LAST ? wire_calls[type].name : "?";
}
