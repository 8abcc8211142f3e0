#!/bin/sh
# transforms/library/attention.cuh compiles for Hopper behind hopper.cuh, in every width that it offers, without register spills,
# and refuses other widths. (The recordings test what a model makes of the transformations that import it.)
. "$(dirname "$0")/lib.sh"
db=$T/a.db
library=$root/transforms/library
context() # SET OF COLUMNS
{
	cat <<'FRONT'
---
kernel: parts
backend: cuda
inputs:
  n: int = 64
  A: f16[2, n, 128] = normal
  O: out f16[2, n, 128]
tune:
FRONT
	printf '  WIDTH: %s\n  ROWS: {64, 128}\nrequires: device.sm == 90\n---\n```macros\n' "$1"
	cat "$library/hopper.cuh" "$library/attention.cuh"
	cat <<'CODE'
```
```cuda
extern "C" __global__ void __launch_bounds__(256) parts(const __grid_constant__ tensor_map from, const __grid_constant__ tensor_map to, int n)
{
	extern __shared__ __align__(1024) half tile[];
	barrier *full = (barrier *)(tile + 2 * ROWS * 64);
	if (threadIdx.x == 0) {
		barrier_init(full, 1);
		barrier_init_done();
		barrier_arrive_expect(full, 2 * ROWS * 128);
		for (int p = 0; p < 2; p++)
			load_panel_of(tile + p * ROWS * 64, &from, p * 64, 0, blockIdx.x, full);
	}
	__syncthreads();
	barrier_wait(full, 0);
	float s[ROWS / 2], o[WIDTH / 2], top[2] = { MINUS_INFINITY, MINUS_INFINITY }, sum[2] = { 0, 0 };
	unsigned weights[ROWS / 4];
	for (int i = 0; i < WIDTH / 2; i++)
		o[i] = 0;
	if (warpgroup() == 0)
		turn_give(1);
	else
		turn_wait(1);
	wgmma_begin();
	wgmma_rows<128, ROWS>(s, tile, ROWS * 64, tile);
	wgmma_commit();
	wgmma_wait<0>();
	acc_ready(s);
	for (int i = 0; i < ROWS / 2; i++)
		top[acc_side(i)] = fmaxf(top[acc_side(i)], s[i]);
	row_max(top);
	for (int i = 0; i < ROWS / 2; i++)
		sum[acc_side(i)] += s[i] = exp2_fast(s[i] - top[acc_side(i)]);
	row_sum(sum);
	acc_to_factor(s, weights);
	wgmma_begin();
	wgmma_registers<ROWS, WIDTH>(o, weights, tile);
	wgmma_commit();
	wgmma_wait<0>();
	acc_ready(o);
	for (int i = 0; i < WIDTH / 2; i++)
		o[i] /= sum[acc_side(i)];
	__syncthreads();
	acc_to_panel(o, 0, tile);
	shared_written();
	__syncthreads();
	if (threadIdx.x == 0) {
		store_panel_of(&to, 0, 0, blockIdx.x, tile);
		store_commit();
		store_wait();
	}
}
```
```lua host
launch("parts", {2}, {256}, {tensor_map{A, box = {64, ROWS, 1}, swizzle = 128}, tensor_map{O, box = {64, 64, 1}, swizzle = 128}, n}, {shared = 2 * ROWS * 128 + 8})
```
CODE
}

context '{64, 128}' >"$T/parts.peak.md"
timeout 100 "$peakd" run "$T/parts.peak.md" --db "$db" --device cuda:sm_90a --samples 4 >"$T/out" 2>"$T/err"
status=$?
need_cuda_compiler 4 "$T/err"
is $status 3 "every offered width compiles, with exit status 3" "$(cat "$T/err")"
has "$(cat "$T/out")" "4 configurations compile" "all four configurations compile"
has "$(cat "$T/out")" " 0 bytes spilled" "no configuration spills registers"

context '{96}' >"$T/narrow.peak.md"
timeout 100 "$peakd" run "$T/narrow.peak.md" --db "$db" --device cuda:sm_90a --samples 2 >"$T/out" 2>"$T/err"
has "$(cat "$T/out" "$T/err")" "wgmma_registers: 64 or 128 columns" "another width is refused with the widths that exist"
done_testing
