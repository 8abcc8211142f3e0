/* Beside hopper.cuh, in front of it or behind: copies of panels of an array with three extents, [slice][row][col]; called by ONE thread. What
 * lies outside of the slice reads as zero and is not written. The map's box is {64, rows, 1}. PTX ISA 8.x: cp.async.bulk.tensor §9.7.9.27. */
#include <cuda_fp16.h>

struct tensor_map;                  /* as in hopper.cuh */
typedef unsigned long long barrier;

__device__ __forceinline__ void load_panel(half *to, const tensor_map *map, int col, int row, int slice, barrier *b)
{
	asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4}], [%5];"
	             :: "r"((unsigned)__cvta_generic_to_shared(to)), "l"(map), "r"(col), "r"(row), "r"(slice),
	                "r"((unsigned)__cvta_generic_to_shared(b)) : "memory");
}
__device__ __forceinline__ void store_panel(const tensor_map *map, int col, int row, int slice, const half *from)
{
	asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group [%0, {%2, %3, %4}], [%1];"
	             :: "l"(map), "r"((unsigned)__cvta_generic_to_shared(from)), "r"(col), "r"(row), "r"(slice) : "memory");
}
