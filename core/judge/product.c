/* product: see product.h. */
#include "core/judge/product.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/embedded.h"
#include "base/mem.h"

static const char *name_of(enum dtype type)
{
	return type == DTYPE_F16 ? "__half" : type == DTYPE_BF16 ? "__nv_bfloat16" : type == DTYPE_F32 ? "float" : "double";
}

static char *device_code(const struct plan *plan, const struct spec_gemm *g)
{
	const struct plan_buffer *a = &plan->buffers[g->a], *b = &plan->buffers[g->b], *c = &plan->buffers[g->c];
	struct buf out = BUF_INIT;
	buf_adds(&out, "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n");
	buf_addf(&out, "#define PRODUCT_IN %s\n#define PRODUCT_OUT %s\n", name_of(a->type), name_of(c->type));
	buf_addf(&out, "#define PRODUCT_M %lldLL\n#define PRODUCT_N %lldLL\n#define PRODUCT_K %lldLL\n", (long long)c->dims[0],
		 (long long)c->dims[1], (long long)a->dims[g->a_transposed ? 0 : 1]);
	buf_addf(&out, "#define PRODUCT_LDA %lldLL\n#define PRODUCT_LDB %lldLL\n#define PRODUCT_LDC %lldLL\n", (long long)a->ld,
		 (long long)b->ld, (long long)c->ld);
	buf_addf(&out, "#define PRODUCT_A_T %d\n#define PRODUCT_B_T %d\n", g->a_transposed, g->b_transposed);
	buf_adds(&out, embedded_file("core/judge/product.cu"));
	return buf_steal(&out);
}

int product_context(const struct context *ctx, const struct plan *plan, struct context **ret_ctx, struct err *e)
{
	const struct spec *spec = context_spec(ctx);
	const struct spec_gemm *g = spec->gemm;
	if (g == NULL || strcmp(context_backend(ctx), "cuda") != 0 || plan->buffer_count <= g->c)
		return err_set(e, ERR_UNSUPPORTED, "it declares no matrix product for CUDA");
	const struct plan_buffer *c = &plan->buffers[g->c];
	char *device = device_code(plan, g);
	char *host = mem_fmt("launch(\"peakd_product\", {%lld, %lld}, 256, {%s, %s, %s})\n", (long long)(c->dims[1] + 63) / 64,
			     (long long)(c->dims[0] + 63) / 64, spec->arrays[g->a].name, spec->arrays[g->b].name,
			     spec->arrays[g->c].name);
	struct context *coded = NULL, *bare = NULL;
	int rc = context_with_region(ctx, REGION_DEVICE, device, &coded, e);
	if (rc == 0)
		rc = context_with_region(coded, REGION_MACROS, "", &bare, e);
	if (rc == 0)
		rc = context_with_region(bare, REGION_HOST, host, ret_ctx, e);
	context_free(coded);
	context_free(bare);
	free(device);
	free(host);
	return rc;
}
