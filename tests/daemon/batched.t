#!/bin/sh
# transforms/library/hopper-batched.cuh compiles for Hopper both in front of hopper.cuh, where batched-slices puts it, and behind
# it.
. "$(dirname "$0")/lib.sh"
db=$T/a.db
library=$root/transforms/library
context() # the files of the library, in order
{
	cat <<'FRONT'
---
kernel: copy
backend: cuda
inputs:
  n: int = 64
  A: f16[3, n, n] = normal
  C: out f16[3, n, n]
tune:
  ROWS: {64, 128}
requires: device.sm == 90
---
```macros
FRONT
	for file; do cat "$library/$file"; done
	cat <<'CODE'
```
```cuda
extern "C" __global__ void __launch_bounds__(128) copy(const __grid_constant__ tensor_map from, const __grid_constant__ tensor_map to, int n)
{
	extern __shared__ __align__(1024) half panel[];
	barrier *full = (barrier *)(panel + ROWS * 64);
	if (threadIdx.x == 0) {
		barrier_init(full, 1);
		barrier_init_done();
		barrier_arrive_expect(full, ROWS * 128);
		load_panel(panel, &from, 0, 0, blockIdx.x, full);
		barrier_wait(full, 0);
		store_panel(&to, 0, 0, blockIdx.x, panel);
		store_commit();
		store_wait();
	}
}
```
```lua host
launch("copy", {3}, {128}, {tensor_map{A, box = {64, ROWS, 1}, swizzle = 128}, tensor_map{C, box = {64, ROWS, 1}, swizzle = 128}, n}, {shared = ROWS * 128 + 8})
```
CODE
}

for order in "hopper-batched.cuh hopper.cuh" "hopper.cuh hopper-batched.cuh"; do
	context $order >"$T/copy.peak.md"
	timeout 100 "$peakd" run "$T/copy.peak.md" --db "$db" --device cuda:sm_90a --samples 2 >"$T/out" 2>"$T/err"
	status=$?
	need_cuda_compiler 4 "$T/err"
	is $status 3 "$order: the library compiles, with exit status 3" "$(cat "$T/err")"
	has "$(cat "$T/out")" "2 configurations compile" "$order: both tile heights compile"
done
done_testing
