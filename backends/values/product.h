/* product: is C really A·B? Freivalds' check (R. Freivalds, "Probabilistic machines can use less running time", 1977):
 * C·x against A·(B·x) for a few random vectors of ±1, in double: three matrix-vector products instead of a matrix
 * product, without a kernel, baseline or library that would have to be trusted. Called by backends/worker/runs.c. */
#ifndef PEAKD_BACKENDS_VALUES_PRODUCT_H
#define PEAKD_BACKENDS_VALUES_PRODUCT_H

#include <stdbool.h>
#include <stdint.h>

#include "backends/wire/wire.h"

/* C of m rows; a and b as in struct plan_gemm. a_bytes and b_bytes are laid out as their buffers (rows ld apart),
 * c_bytes is packed. */
struct product {
	const struct plan_buffer *a, *b, *c;
	bool a_transposed, b_transposed;
	const void *a_bytes, *b_bytes, *c_bytes;
};

/* `secret` chooses the vectors. *ret_found: the rows of C that are wrong for at least one vector; of the first, |C·x −
 * A·(B·x)| and its bound. The bound of a row is 8·tolerance·‖row‖. Errors of that relative size, independent of x,
 * exceed it in one case of 10^13 (Hoeffding's inequality); one element that is wrong by its own size exceeds it while
 * tolerance·√columns < 1/8. A row smaller than the average counts as an average one. */
void product_check(const struct product *p, double tolerance, uint64_t secret, struct wire_product_found *ret_found);

#endif
