/* sample: what the tests of core/judge share: a worker that is this very program, a small HLSL matmul, a store in a folder of its
 * own. A test's main begins with sample_worker(argc, argv). */
#ifndef PEAKD_TESTS_CORE_SAMPLE_H
#define PEAKD_TESTS_CORE_SAMPLE_H

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backends/worker/worker.h"
#include "base/mem.h"
#include "core/context/context.h"
#include "core/workers/pool.h"
#include "core/judge/reference.h"
#include "core/record/checkpoint.h"
#include "core/record/store.h"
#include "folder.h"
#include "tap.h"

static const char sample_front[] =
	"---\n"
	"kernel: matmul\n"
	"backend: hlsl\n"
	"inputs:\n"
	"  n: int = {64}\n"
	"  A: f32[n, n] = random\n"
	"  B: f32[n, n] = random\n"
	"  C: out f32[n, n]\n"
	"tune:\n"
	"  BX: {4, 8, 16}\n"
	"  BY: {4, 8, 16}\n"
	"where:\n"
	"  - BX*BY <= 128\n"
	"check: n = {17}\n"
	"flops: 2*n^3\n";
static const char sample_host[] =
	"```lua host\n"
	"launch(\"matmul\", {cdiv(n,BX), cdiv(n,BY)}, {BX,BY}, {A,B,C,n})\n"
	"```\n";

/* A context whose kernel sums with `body` ("acc += A[row*n+k]*B[k*n+col];"); `more` are further lines of its front matter. */
__attribute__((unused))
static struct context *sample_context_with(const char *more, const char *body)
{
	struct err e = ERR_INIT;
	struct context *ctx = NULL;
	char *text = mem_fmt("%s%s---\n```hlsl\n"
	                     "[numthreads(BX, BY, 1)]\n"
	                     "void matmul(uint3 id : SV_DispatchThreadID) {\n"
	                     "  int row = id.y, col = id.x;\n"
	                     "  if (row >= n || col >= n) return;\n"
	                     "  float acc = 0;\n"
	                     "  for (int k = 0; k < n; k++) { %s }\n"
	                     "  C[row*n + col] = acc;\n"
	                     "}\n```\n%s", sample_front, more, body, sample_host);
	if (context_parse("sample", text, &ctx, &e) < 0)
		printf("# %s\n", e.text);
	free(text);
	return ctx;
}

__attribute__((unused))
static struct context *sample_context(const char *body)
{
	return sample_context_with("", body);
}
#define SAMPLE_RIGHT "acc += A[row*n+k]*B[k*n+col];"

__attribute__((unused))
static void sample_worker(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "worker") == 0)
		exit(worker_main());
}

struct sample {
	struct pool *pool;
	struct references *references;
	struct store *store;
	struct db *db;
	struct facts facts;
	char folder[64];
	int ready; /* an HLSL device is there */
};

__attribute__((unused))
static void sample_init(struct sample *s)
{
	struct err e = ERR_INIT;
	/* Locks of its own: two tests beside each other need not wait for each other's device, for none depends on its times. */
	struct pool_config config = { .compile_workers = 2, .lock_space = s->folder };
	memset(s, 0, sizeof *s);
	strcpy(s->folder, "/tmp/peakd-eval-XXXXXX");
	if (mkdtemp(s->folder) == NULL)
		exit(1);
	char *path = mem_fmt("%s/t.db", s->folder);
	s->pool = pool_new(&config);
	s->references = references_new(64 << 20);
	if (store_open(path, &s->store, &e) < 0 || store_take(s->store, &s->db, &e) < 0)
		printf("# %s\n", e.text);
	free(path);
	s->ready = pool_device(s->pool, "hlsl:0", &s->facts, &e) == 0;
	if (!s->ready)
		printf("# %s\n", e.text);
}

__attribute__((unused))
static void sample_fini(struct sample *s)
{
	store_give(s->db);
	store_close(s->store);
	references_free(s->references);
	pool_free(s->pool);
	folder_remove(s->folder);
}

/* A checkpoint of the context; parent 0: none. */
__attribute__((unused)) static int64_t sample_add(struct sample *s, const struct context *ctx, int64_t parent, const char *by,
						  enum checkpoint_status status, const char *note)
{
	struct err e = ERR_INIT;
	struct checkpoint c = { .kernel = context_kernel(ctx), .backend = context_backend(ctx), .by = by, .parents = &parent,
	                        .parent_count = parent != 0, .status = status, .note = note };
	char *canonical = context_canonical(ctx);
	int64_t id = 0;
	if (checkpoint_add(s->db, &c, canonical, &id, &e) < 0)
		printf("# %s\n", e.text);
	free(canonical);
	return id;
}

__attribute__((unused))
static int64_t sample_checkpoint(struct sample *s, const struct context *ctx)
{
	return sample_add(s, ctx, 0, "root", CHECKPOINT_DRAFT, NULL);
}

/* An accepted checkpoint of a context's text: a baseline, or an edit of its parent. Frees the text. */
__attribute__((unused))
static int64_t sample_add_text(struct sample *s, char *take_text, int64_t parent)
{
	struct err e = ERR_INIT;
	struct context *ctx = NULL;
	if (context_parse("sample", take_text, &ctx, &e) < 0)
		printf("# %s\n", e.text);
	int64_t id = sample_add(s, ctx, parent, parent ? "edit" : "root", CHECKPOINT_ACCEPTED, NULL);
	context_free(ctx);
	free(take_text);
	return id;
}

#endif
