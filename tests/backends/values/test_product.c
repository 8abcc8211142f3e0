/* backends/values/product: correct products pass in every layout and type, and every way to skip work is found. */
#include "backends/values/product.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "backends/values/fill.h"
#include "base/mem.h"
#include "tap.h"

enum { M = 67, N = 130, K = 257, PAD = 3 };

static struct plan_buffer matrix(const char *name, enum dtype t, int64_t rows, int64_t columns, int64_t pad)
{
	return (struct plan_buffer){ .name = (char *)name,
				     .type = t,
				     .rank = 2,
				     .dims = { rows, columns },
				     .ld = columns + pad,
				     .fill = PLAN_RANDOM,
				     .lo = -1,
				     .hi = 1,
				     .bytes = (uint64_t)(rows * (columns + pad)) * dtype_size(t) };
}

static double at(const struct plan_buffer *b, const void *bytes, bool transposed, int64_t i, int64_t j)
{
	return dtype_load(b->type,
			  (const uint8_t *)bytes + (size_t)(transposed ? j * b->ld + i : i * b->ld + j) * dtype_size(b->type));
}

struct sample {
	struct plan_buffer a, b, c;
	struct product p;
	double tolerance;
};

/* Sums in f32, in order; the first `terms` of them. */
static void multiply(struct sample *s, int64_t terms, uint8_t *to)
{
	for (int64_t i = 0; i < s->c.dims[0]; i++)
		for (int64_t j = 0; j < s->c.dims[1]; j++) {
			float sum = 0;
			for (int64_t k = 0; k < terms; k++)
				sum += (float)at(&s->a, s->p.a_bytes, s->p.a_transposed, i, k) *
				       (float)at(&s->b, s->p.b_bytes, s->p.b_transposed, k, j);
			dtype_store(s->c.type, to + (size_t)(i * s->c.dims[1] + j) * dtype_size(s->c.type), sum);
		}
}

static void sample_init(struct sample *s, enum dtype type, bool a_transposed, bool b_transposed)
{
	*s = (struct sample){
		.a = a_transposed ? matrix("A", type, K, M, PAD) : matrix("A", type, M, K, PAD),
		.b = b_transposed ? matrix("B", type, N, K, 0) : matrix("B", type, K, N, PAD),
		.c = matrix("C", type, M, N, 0), .tolerance = dtype_roundoff(type) + 0x1p-24 * sqrt(K),
	};
	void *a = mem_new(1, s->a.bytes), *b = mem_new(1, s->b.bytes), *c = mem_new(1, s->c.bytes);
	fill_buffer(&s->a, 1, a);
	fill_buffer(&s->b, 1, b);
	s->p = (struct product){ .a = &s->a, .b = &s->b, .c = &s->c, .a_transposed = a_transposed, .b_transposed = b_transposed,
	                         .a_bytes = a, .b_bytes = b, .c_bytes = c };
	multiply(s, K, c);
}

static void sample_fini(struct sample *s)
{
	free((void *)s->p.a_bytes);
	free((void *)s->p.b_bytes);
	free((void *)s->p.c_bytes);
}

static struct wire_product_found check(struct sample *s, uint64_t secret)
{
	struct wire_product_found f;
	product_check(&s->p, s->tolerance, secret, &f);
	return f;
}

static void check_type(enum dtype type, bool a_transposed, bool b_transposed)
{
	struct sample s;
	uint64_t wrong = 0, missed = 0;
	sample_init(&s, type, a_transposed, b_transposed);
	uint8_t *c = (uint8_t *)s.p.c_bytes, *element = c + (size_t)(5 * N + 9) * dtype_size(type);
	for (uint64_t secret = 0; secret < 50; secret++)
		wrong += check(&s, secret).rows;
	is_int(wrong, 0, "%s%s%s: the product passes with 50 sets of vectors", dtype_name(type), a_transposed ? " A^T" : "",
	       b_transposed ? " B^T" : "");
	double right = dtype_load(type, element);
	dtype_store(type, element, right > 0 ? right - 4 : right + 4);
	for (uint64_t secret = 0; secret < 50; secret++) {
		struct wire_product_found f = check(&s, secret);
		missed += f.rows != 1 || f.row != 5;
	}
	is_int(missed, 0, "one wrong element of %d is found in its row each time", M * N);
	dtype_store(type, element, NAN);
	is_int(check(&s, 1).rows, 1, "NaN is found");
	multiply(&s, K - 1, c);
	ok(check(&s, 1).rows > M / 2, "a sum that leaves out one term of %d is found", K);
	memset(c, 0, s.c.bytes);
	is_int(check(&s, 1).rows, M, "zeros are found");
	multiply(&s, K, c);
	is_int(check(&s, 1).rows, 0, "a corrected product passes");
	sample_fini(&s);
}

/* A matrix that is cut into parts for several threads. */
static void check_large(void)
{
	int64_t n = 700;
	struct plan_buffer a = matrix("A", DTYPE_F32, n, n, 0), b = matrix("B", DTYPE_F32, n, n, 0),
			   c = matrix("C", DTYPE_F32, n, n, 0);
	float *one = mem_new(1, a.bytes), *any = mem_new(1, b.bytes), *product = mem_new(1, c.bytes);
	struct wire_product_found f;
	fill_buffer(&b, 3, any);
	for (int64_t i = 0; i < n; i++)
		one[i * n + (i + 1) % n] = 2;
	for (int64_t i = 0; i < n; i++)
		for (int64_t j = 0; j < n; j++)
			product[i * n + j] = 2 * any[(i + 1) % n * n + j];
	struct product p = { .a = &a, .b = &b, .c = &c, .a_bytes = one, .b_bytes = any, .c_bytes = product };
	product_check(&p, 1e-7, 9, &f);
	is_int(f.rows, 0, "a rotated matrix passes in parts");
	p.a_transposed = true;
	product_check(&p, 1e-7, 9, &f);
	is_int(f.rows, n, "a transposed matrix is another one");
	for (int64_t i = 0; i < n; i++)
		for (int64_t j = 0; j < n; j++)
			product[i * n + j] = 2 * any[(i + n - 1) % n * n + j];
	product_check(&p, 1e-7, 9, &f);
	is_int(f.rows, 0, "its product passes in parts");
	free(one);
	free(any);
	free(product);
}

int main(void)
{
	for (int i = 0; i < 4; i++)
		check_type(DTYPE_F32, i & 1, i & 2);
	check_type(DTYPE_F16, false, true);
	check_large();
	return tap_done();
}
