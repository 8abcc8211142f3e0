/* limits: the table of device.* names; see limits.h. Used by core/context/{spec,host}. */
#include "core/context/limits.h"

#include <stdlib.h>
#include <string.h>

enum limit {
	LIMIT_WARP,
	LIMIT_THREADS,
	LIMIT_BLOCK_X,
	LIMIT_BLOCK_Y,
	LIMIT_BLOCK_Z,
	LIMIT_GRID_X,
	LIMIT_GRID_Y,
	LIMIT_GRID_Z,
	LIMIT_STATIC,
	LIMIT_OPTIN,
	LIMIT_REGISTERS,
	LIMIT_UNITS,
	LIMIT_CLOCK,
	LIMIT_CLUSTER,
	LIMIT_L2,
	LIMIT_MEMORY,
	LIMIT_SM,
	LIMIT_COUNT
};

/* What host code sees as the number of multiprocessors of a device that only compiles: an architecture has none, and a grid
 * made of 0 could not be looked at. It decides nothing else. */
enum { UNITS_STAND_IN = 64 };

static const char *const names[LIMIT_COUNT] = {
	"warp_size",  "max_threads", "max_block_x",   "max_block_y",  "max_block_z", "max_grid_x",
	"max_grid_y", "max_grid_z",  "shared_static", "shared_optin", "registers",   "units",
	"clock_khz",  "max_cluster", "l2_bytes",      "memory_bytes", "sm",
};

size_t limits_count(void)
{
	return LIMIT_COUNT;
}

const char *limits_name(size_t k)
{
	return names[k];
}

int64_t limits_value(const struct facts *f, size_t k)
{
	switch ((enum limit)k) {
	case LIMIT_WARP: return f->warp_size;
	case LIMIT_THREADS: return f->max_threads;
	case LIMIT_BLOCK_X:
	case LIMIT_BLOCK_Y:
	case LIMIT_BLOCK_Z: return f->max_block[k - LIMIT_BLOCK_X];
	case LIMIT_GRID_X:
	case LIMIT_GRID_Y:
	case LIMIT_GRID_Z: return f->max_grid[k - LIMIT_GRID_X];
	case LIMIT_STATIC: return f->shared_static;
	case LIMIT_OPTIN: return f->shared_optin;
	case LIMIT_REGISTERS: return f->registers;
	case LIMIT_UNITS: return f->units || f->runs ? f->units : UNITS_STAND_IN;
	case LIMIT_CLOCK: return f->clock_khz;
	case LIMIT_CLUSTER: return f->max_cluster;
	case LIMIT_L2: return (int64_t)f->l2_bytes;
	case LIMIT_MEMORY: return (int64_t)f->memory_bytes;
	case LIMIT_SM: return strncmp(f->arch, "sm_", 3) == 0 ? atoi(f->arch + 3) : 0;
	case LIMIT_COUNT: break;
	}
	return 0;
}
