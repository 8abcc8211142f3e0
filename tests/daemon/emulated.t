#!/bin/sh
# An emulated device that executes AMD's machine code on the CPU. Contexts are validated on it through the whole daemon and its
# sandboxed workers; every report says that it is emulated, and none has a time.
. "$(dirname "$0")/lib.sh"
db=$T/a.db
export PEAKD_HIP_RUNTIME="${BUILD:-$root/build}/tests/backends/hip/emulated.so"

if ! /sbin/ldconfig -p | grep -q libamdhip64; then
	skip_rest 9 "no HIP compiler here (Debian: libamdhip64-5, libamd-comgr2)"
fi
timeout 120 "$peakd" devices --db "$db" >"$T/out" 2>"$T/err"
has "$(cat "$T/out")" "hip:0: emulated gfx90a" "the device list says that it is emulated"

sed 's/{64, 96}/{40}/; s/{8, 16, 32}/{16}/; s/{8, 16}/{8}/; s/{33, 67}/{17}/' \
	"$root/examples/matmul-fp32-gfx90a.peak.md" >"$T/mm.peak.md"
timeout 200 "$peakd" run "$T/mm.peak.md" --db "$db" --device hip:0 --json "$T/rows.json" \
	>"$T/out" 2>"$T/err"
has "$(cat "$T/out")" "accepted, 2 passed, 0 failed, no times: emulated" "the baseline is validated" "$(cat "$T/err")"
has "$(cat "$T/out")" "mm on emulated gfx90a (hip:0)" "the table names the device"
has "$(tail -n 1 "$T/out")" "no times: emulated gfx90a (hip:0)" "the closing line says that there are no times"
is "$(jq -c '[.emulated, .rows[0].validated, .rows[0].median_ms]' "$T/rows.json")" '[true,true,null]' \
	"the JSON says emulated and has no time"

timeout 120 "$peakd" tune mm --db "$db" --device hip:0 >"$T/out" 2>"$T/err"
is $? 1 "tune refuses an emulated device"
has "$(cat "$T/err")" "hip:0 (emulated gfx90a) is emulated" "tune says why"

sed 's/acc += A\[row \* n + k\]/acc += A[row * n + k + (k == 7)]/' "$T/mm.peak.md" >"$T/own.peak.md"
printf '%s\n' '```hip reference' 'extern "C" __global__ void matmul(const float *A, const float *B, float *C, int n)' '{' \
	'	int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;' \
	'	if (row >= n || col >= n) return;' \
	'	double acc = 0;' '	for (int k = 0; k < n; k++)' '		acc += (double)A[row * n + k] * B[k * n + col];' \
	'	C[row * n + col] = (float)acc;' '}' '```' \
	>>"$T/own.peak.md"
timeout 200 "$peakd" run "$T/own.peak.md" --db "$db" --device hip:0 >"$T/out" 2>"$T/err"
is $? 1 "a kernel that reads the wrong element is found"
has "$(cat "$T/err")" "the baseline differs from its reference block in C" "the error names the output"
done_testing
