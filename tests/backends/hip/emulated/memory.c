/* memory: the allocations that kernels may touch, and the checks of every access. Device addresses are the host's
 * own. */
#include "tests/backends/hip/emulated/emulated.h"

#include <stdlib.h>

#include "base/mem.h"

static const uint64_t total_bytes = UINT64_C(8) << 30;

struct region { uint64_t at; size_t bytes; bool lent; };
static struct region *regions;
static size_t region_count, last, used;

static void add(uint64_t at, size_t bytes, bool lent)
{
	*MEM_PUSH(regions, region_count) = (struct region){ .at = at, .bytes = bytes, .lent = lent };
	used += lent ? 0 : bytes;
}

static bool drop(uint64_t at, bool lent)
{
	for (size_t i = 0; i < region_count; i++)
		if (regions[i].at == at && regions[i].lent == lent) {
			used -= lent ? 0 : regions[i].bytes;
			regions[i] = regions[--region_count];
			last = 0;
			return true;
		}
	return false;
}

void *memory_new(size_t bytes)
{
	void *p = bytes <= total_bytes - used ? malloc(bytes ? bytes : 1) : NULL;
	if (p)
		add((uintptr_t)p, bytes, false);
	return p;
}

bool memory_free(void *address)
{
	if (!address)
		return true;
	if (!drop((uintptr_t)address, false))
		return false;
	free(address);
	return true;
}

void memory_info(size_t *ret_left, size_t *ret_total)
{
	*ret_total = total_bytes;
	*ret_left = total_bytes - used;
}

void memory_lend(const void *address, size_t bytes) { add((uintptr_t)address, bytes, true); }
void memory_take(const void *address) { drop((uintptr_t)address, true); }

static bool holds(const struct region *r, uint64_t address, size_t bytes)
{
	return address >= r->at && bytes <= r->bytes && address - r->at <= r->bytes - bytes;
}

bool memory_has(uint64_t address, size_t bytes)
{
	if (last < region_count && holds(&regions[last], address, bytes))
		return true;
	for (size_t i = 0; i < region_count; i++)
		if (holds(&regions[i], address, bytes)) {
			last = i;
			return true;
		}
	return false;
}

void *memory_lds(struct wave *w, const struct op *o, unsigned lane, uint64_t offset, size_t bytes)
{
	const struct group *g = w->group;

	if (bytes <= g->lds_bytes && offset <= g->lds_bytes - bytes)
		return g->lds + offset;
	dispatch_stop(w, o, hipErrorIllegalAddress, "lane %u accesses %zu bytes of LDS at %llu, the block has %u bytes", lane,
		      bytes, (unsigned long long)offset, g->lds_bytes);
	return NULL;
}

void *memory_private(struct wave *w, const struct op *o, unsigned lane, uint64_t offset, size_t bytes)
{
	uint32_t each = w->group->kernel->private_;

	if (bytes <= each && offset <= each - bytes)
		return w->private_ + (size_t)lane * each + offset;
	dispatch_stop(w, o, hipErrorIllegalAddress, "lane %u accesses %zu bytes of private memory at %llu, it has %u bytes", lane,
		      bytes, (unsigned long long)offset, each);
	return NULL;
}

void *memory_at(struct wave *w, const struct op *o, unsigned lane, uint64_t address, size_t bytes)
{
	if (memory_has(address, bytes))
		return (void *)(uintptr_t)address;
	if (address >> 32 == APERTURE_LDS)
		return memory_lds(w, o, lane, (uint32_t)address, bytes);
	if (address >> 32 == APERTURE_PRIVATE)
		return memory_private(w, o, lane, (uint32_t)address, bytes);
	dispatch_stop(w, o, hipErrorIllegalAddress, "lane %u accesses %zu bytes at 0x%llx, where no buffer is", lane, bytes,
	              (unsigned long long)address);
	return NULL;
}
