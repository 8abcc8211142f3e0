/* product: is C really A·B? Freivalds' check (R. Freivalds, "Probabilistic machines can use less running time", 1977): C·x against
 * A·(B·x) for a few random vectors of ±1, in double: three matrix-vector products in place of a matrix product, with no kernel, root or
 * library to trust. Called by backends/worker/run.c and its test. */
#ifndef PEAKD_BACKENDS_VALUES_PRODUCT_H
#define PEAKD_BACKENDS_VALUES_PRODUCT_H

#include <stdbool.h>
#include <stdint.h>

#include "backends/wire/wire.h"

/* C of m rows; a and b as in struct plan_gemm. a_bytes and b_bytes are laid out as their buffers (rows ld apart), c_bytes is packed. */
struct product {
	const struct plan_buffer *a, *b, *c;
	bool a_transposed, b_transposed;
	const void *a_bytes, *b_bytes, *c_bytes;
};

/* `secret` chooses the vectors. The bound of a row is 8·tolerance·‖row‖: errors of that relative size, independent of x, stay below it but for
 * one case in 10^13 (Hoeffding's inequality), and one element that is off by its own size is beyond it while tolerance·√columns < 1/8. A
 * row smaller than the usual one counts as a usual one. */
void product_check(const struct product *p, double tolerance, uint64_t secret, struct wire_product_found *ret_found);

#endif
