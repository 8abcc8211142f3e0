#!/bin/sh
# Branches of a kernel that depend on what arrays hold: those that no value took stand in the verdict, and a special case that few
# draws reach is looked for.
. "$(dirname "$0")/lib.sh"
db=$T/db
need_hlsl 3 "$db"
context() # context NAME LAST-LINES: variances of rows, with what follows them
{
	cat <<EOF >"$T/$1.peak.md"
---
kernel: rows
backend: hlsl
inputs:
  n: int = {64}
  x: f32[n, n] = normal
  y: out f32[n]
check:
  - n = {33}
---
\`\`\`hlsl
[numthreads(64, 1, 1)]
void rows(uint3 id : SV_DispatchThreadID)
{
	if (id.x >= uint(n)) return;
	float s = 0, q = 0;
	for (uint k = 0; k < uint(n); k++) s += x[id.x * n + k];
	s /= n;
	for (uint k = 0; k < uint(n); k++) { float d = x[id.x * n + k] - s; q += d * d; }
	y[id.x] = q / n;
	$2
}
\`\`\`
\`\`\`lua host
launch("rows", 1, 64, {x, y, n})
\`\`\`
EOF
	timeout 120 "$peakd" workflow create "$T/$1.peak.md" "$1" --db "$db" >/dev/null
	timeout 300 "$peakd" validate "$1" --device hlsl:0 --db "$db" >"$T/$1.out" 2>&1
}
context plain ""
is "$(grep -c "branches" "$T/plain.out")" 0 "a kernel without such branches is judged as before" "$(cat "$T/plain.out")"
# shellcheck disable=SC2016
context never 'if (s == 0.123456789) y[id.x] = 3; if (q > 0) y[id.x] = q / n;'
# shellcheck disable=SC2016
has "$(cat "$T/never.out")" 'not judged: branches (`s == 0.123456789` in line 10 was never true)' \
	"a branch that was never taken stands in the verdict, with its condition and line"
is "$(grep -c "q > 0" "$T/never.out")" 0 "one that was taken both ways does not" "$(cat "$T/never.out")"
done_testing
