/* module: see module.h. The bytes may come from a database that somebody else wrote, so they are read with wire.h's
 * reader. */
#include "backends/hlsl/module.h"

#include <stdlib.h>
#include <string.h>

#include "backends/wire/wire.h"
#include "base/mem.h"

enum { VERSION = 1 };
#define MAGIC UINT32_C(0x4c534c48) /* "HLSL" */

void hlsl_module_encode(const struct module *m, struct buf *out)
{
	wire_put_u32(out, MAGIC);
	wire_put_u32(out, VERSION);
	wire_put_u64(out, m->count);
	for (size_t i = 0; i < m->count; i++) {
		wire_put_text(out, m->kernels[i].name);
		wire_put_bytes(out, m->kernels[i].words, m->kernels[i].count * sizeof(uint32_t));
	}
}

int hlsl_module_decode(const void *bytes, size_t len, struct module *ret_module, struct err *e)
{
	struct wire_in in = { .at = bytes, .end = (const uint8_t *)bytes + len };
	struct module m = { 0 };
	if (wire_get_u32(&in) != MAGIC || wire_get_u32(&in) != VERSION)
		return err_set(e, ERR_INPUT, "these %zu bytes are no HLSL binary of this version of peakd; compile again", len);
	m.count = wire_get_count(&in, 16);
	m.kernels = MEM_NEW_N(struct module_kernel, m.count);
	for (size_t i = 0; i < m.count; i++) {
		size_t n;
		m.kernels[i].name = wire_get_text(&in);
		const void *words = wire_get_bytes(&in, &n);
		m.kernels[i].words = mem_copy(words, n);
		m.kernels[i].count = n / sizeof(uint32_t);
	}
	if (wire_end(&in, "HLSL binary", NULL) < 0) {
		hlsl_module_fini(&m);
		return err_set(e, ERR_INPUT, "the HLSL binary is cut short or damaged; compile again");
	}
	*ret_module = m;
	return 0;
}

void hlsl_module_fini(struct module *m)
{
	for (size_t i = 0; i < m->count; i++) {
		free(m->kernels[i].name);
		free(m->kernels[i].words);
	}
	free(m->kernels);
	*m = (struct module){ 0 };
}

const struct module_kernel *hlsl_module_find(const struct module *m, const char *name)
{
	for (size_t i = 0; i < m->count; i++)
		if (strcmp(m->kernels[i].name, name) == 0)
			return &m->kernels[i];
	return NULL;
}
