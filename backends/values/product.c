/* product: see product.h. All vectors are multiplied at once, so each matrix is read once. */
#include "backends/values/product.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "backends/values/stream.h"
#include "base/mem.h"
#include "base/parallel_for.h"

enum { VECTORS = 4 };
#define SLACK 8.0

/* out = M·in, or Mᵀ·in, for a stored matrix of rows × columns and VECTORS vectors (element i of vector v at [i·VECTORS
 * + v]). */
struct times {
	enum dtype type;
	const uint8_t *bytes;
	int64_t rows, columns, ld;
	const double *in;
	double *out;     /* of M·in */
	double *parts;   /* of Mᵀ·in: one `out` per cut; NULL: M·in */
	double *squares; /* of each row, summed; NULL: not wanted */
};

static void times_row(const struct times *t, int64_t i, const double *row, double *part)
{
	double sum[VECTORS] = { 0 }, squares = 0;
	const double *x = t->in + i * VECTORS;
	for (int64_t j = 0; part && j < t->columns; j++)
		for (int v = 0; v < VECTORS; v++)
			part[j * VECTORS + v] += row[j] * x[v];
	if (part)
		return;
	for (int64_t j = 0; j < t->columns; j++) {
		for (int v = 0; v < VECTORS; v++)
			sum[v] += row[j] * t->in[j * VECTORS + v];
		squares += row[j] * row[j];
	}
	memcpy(t->out + i * VECTORS, sum, sizeof sum);
	if (t->squares)
		t->squares[i] = squares;
}

/* The cuts are of elements, so that there are enough of them; a row belongs to the cut in which it ends. */
static void times_part(void *arg, unsigned k, uint64_t from, uint64_t to)
{
	const struct times *t = arg;
	double *row = MEM_NEW_N(double, (size_t)t->columns),
	       *part = t->parts ? t->parts + (size_t)k * (size_t)t->columns * VECTORS : NULL;
	for (int64_t i = (int64_t)(from / (uint64_t)t->columns); i < (int64_t)(to / (uint64_t)t->columns); i++) {
		dtype_load_all(t->type, t->bytes + (size_t)(i * t->ld) * dtype_size(t->type), row, (size_t)t->columns);
		times_row(t, i, row, part);
	}
	free(row);
}

/* A fresh vector. free() */
static double *times(const struct plan_buffer *m, const void *bytes, int64_t ld, bool transposed, const double *in, double *squares)
{
	struct times t = {
		.type = m->type, .bytes = bytes, .rows = m->dims[0], .columns = m->dims[1], .ld = ld, .in = in, .squares = squares
	};
	size_t len = (size_t)(transposed ? t.columns : t.rows) * VECTORS;
	t.out = MEM_NEW_N(double, len);
	if (transposed)
		t.parts = MEM_NEW_N(double, len *PARALLEL_FOR_PARTS);
	parallel_for((uint64_t)t.rows * (uint64_t)t.columns, times_part, &t);
	for (size_t k = 0; transposed && k < PARALLEL_FOR_PARTS; k++)
		for (size_t i = 0; i < len; i++)
			t.out[i] += t.parts[k * len + i];
	free(t.parts);
	return t.out;
}

/* One random bit makes a sign. */
static double *signs(int64_t n, uint64_t secret)
{
	double *x = MEM_NEW_N(double, (size_t)n *VECTORS);
	for (size_t i = 0; i < (size_t)n * VECTORS; i++)
		x[i] = stream_random(secret, i) & 1 ? 1 : -1;
	return x;
}

void product_check(const struct product *p, double tolerance, uint64_t secret, struct wire_product_found *ret_found)
{
	int64_t m = p->c->dims[0], n = p->c->dims[1];
	double *x = signs(n, secret), *squares = MEM_NEW_N(double, (size_t)m);
	double *bx = times(p->b, p->b_bytes, p->b->ld, p->b_transposed, x, NULL);
	double *abx = times(p->a, p->a_bytes, p->a->ld, p->a_transposed, bx, NULL);
	double *cx = times(p->c, p->c_bytes, n, false, x, squares);
	*ret_found = (struct wire_product_found){ .rows = 0 };
	double all = 0;
	for (int64_t i = 0; i < m; i++)
		all += squares[i];
	for (int64_t i = 0; i < m; i++) {
		double allowed = SLACK * tolerance * sqrt(fmax(squares[i], all / (double)m));
		bool off = false;
		for (int v = 0; v < VECTORS && !off; v++) {
			double d = fabs(cx[i * VECTORS + v] - abx[i * VECTORS + v]);
			off = !(d <= allowed); /* NaN too */
			if (off && ret_found->rows == 0)
				*ret_found = (struct wire_product_found){ .row = (uint64_t)i, .off = d, .allowed = allowed };
		}
		ret_found->rows += off;
	}
	free(x);
	free(squares);
	free(bx);
	free(abx);
	free(cx);
}
