#!/bin/sh
# A folder of problems, solved and scored: `peakd bench`, killed and continued, with a model that gets one wrong, on any device that
# runs HLSL. The problems in bench/ are peakd's own.
. "$(dirname "$0")/lib.sh"
[ -n "${PEAKD_PYTHON:-}" ] ||
	PEAKD_PYTHON=$(for p in /usr/bin/python3 python3; do "$p" -c 'import torch' 2>/dev/null && echo "$p" && break; done)
[ -n "$PEAKD_PYTHON" ] || skip_rest 29 "no Python with torch: apt-get install python3-torch, or name one in PEAKD_PYTHON"
export PEAKD_PYTHON

# --- the figures, without a device ----------------------------------------------------------------------------------------------
cat >"$T/figures.py" <<'EOF'
import sys
path = sys.argv[1]
sys.argv = ["bench", "peakd", '{"db": "", "folder": "problems"}', ""]
exec(compile(open(path, encoding="utf-8").read().rsplit("\nsys.exit", 1)[0], path, "exec"))


def size(ours, light, **ways):
    return {"size": "n=1", "evidence": 1, "median_ns": ours, "light_ns": light, "by": "torch", "ways": [
        {"way": w, "ns": ns, "ours_ns": ours, "ratio": ns / ours, "low": 1, "high": 1} for w, ns in ways.items()] + [{"way": "max-autotune", "why": "no"}]}


def problem(name, state, *sizes):
    p = Problem("problems/" + name + ".py", set())
    p.state, p.best, p.line = state, 1, lambda workflow: []
    globals()["job_of"] = lambda kind, checkpoint: {"state": "done", "result": json.dumps({"sizes": sizes, "device": "d"})}
    return p.report()


even = problem("even", "scored", size(200, 100, eager=600, compile=300))
rows = [even, problem("two", "scored", size(100, 10, eager=400, compile=900), size(100, 10, eager=100, compile=900)),
        problem("light", "scored", size(50, 100, eager=80)), problem("bad", "wrong", size(10, 1, eager=1000))]
total = summary(rows)
print("%.3f" % even["score"], even["workloads"][0]["fastest"], "%.3f %.3f" % (even["over_fastest"], even["over_eager"]))
print(rows[1]["over_eager"], rows[2]["score"], rows[3]["correct"], rows[3]["over_eager"])
print(total["correct"], total["over_eager"]["fast_1"], total["over_eager"]["fast_2"], "%.3f" % total["over_eager"]["geometric_mean"])
print(workload(size(50, 100, eager=200))["score"])
EOF
is "$("$PEAKD_PYTHON" "$T/figures.py" "$root/core/problems/bench.py")" \
	"$(printf '0.667 compile 1.500 3.000\n2.0 None False None\n3 3 1 2.125\n1.0')" \
	"scores, geometric means and fast_p follow from the times; wrong problems count as not solved"

db=$T/a.db m=$T/model device=hlsl:0
need_hlsl 28 "$T/d.db"

# --- a comparison with PyTorch by itself ----------------------------------------------------------------------------------------
small_context >"$T/scale.peak.md"
timeout 60 "$peakd" workflow create "$T/scale.peak.md" --db "$T/d.db" >/dev/null
has "$(timeout 60 "$peakd" compare scale pytorch --db "$T/d.db" 2>&1)" "has no Python reference that PyTorch could run" \
	"a kernel without a Python reference is not compared with PyTorch"
has "$(timeout 60 "$peakd" compare scale pytorch --objective energy --db "$T/d.db" 2>&1)" "only cold times are compared" \
	"PyTorch is compared by cold times only"
has "$(timeout 60 "$peakd" compare scale scale --later --db "$T/d.db" 2>&1)" "only a comparison with pytorch is kept" \
	"other comparisons are not kept for another machine"

mkdir "$m"
"$PEAKD_PYTHON" "$root/tests/daemon/bench/model.py" "$m" >"$T/port" 2>/dev/null &
model=$!
trap 'kill $model; finish' EXIT
wait_for 60 test -s "$T/port"
export PEAKD_MODEL="openai:http://127.0.0.1:$(cat "$T/port")/v1?model=fake&retries=0"

bench() # bench FOLDER OPTIONS
{
	timeout "$limit" "$peakd" bench "$@" --backend hlsl --device "$device" --samples 2 --tune 1 --calls 4 --policy beam \
		--db "$db" --json "$T/out.json" --html "$T/out.html" --svg "$T/out.svg" >"$T/out" 2>"$T/err"
}
figure() # figure PROBLEM FILTER
{
	jq -r --arg name "$1" ".problems[] | select(.name == \$name) | $2" "$T/out.json"
}

# --- killed and continued -------------------------------------------------------------------------------------------------------
cp -r "$root/tests/daemon/bench/problems" "$T/problems"
printf 'def <b>\n' >"$T/problems/broken.py"
touch "$m/hold"
"$peakd" bench "$T/problems" --backend hlsl --device hlsl:0 --samples 2 --tune 1 --calls 4 --policy beam \
	--db "$db" >/dev/null 2>&1 &
killed=$!
wait_for 120 test -s "$m/asked"
pid=$(holder "$db")
kill -9 $killed "$pid"
wait $killed 2>/dev/null
wait_for 60 gone "$pid"
rm "$m/hold"
bench "$T/problems"
ok $? "a bench that was killed is continued by the same command" "$(cat "$T/err")"
first="SELECT count(*) FROM job WHERE kind = 'transform' AND json_extract(request, '$.transformation') = 'first-kernel'"
is "$(sqlite3 "$db" "$first")" 3 "an interrupted first kernel is resumed, not begun anew" "$(cat "$T/err")"

# --- what is said of each problem -----------------------------------------------------------------------------------------------
is "$(figure refused .state)" "not imported" "a problem that cannot be imported is reported"
has "$(cat "$T/out")" "y: contexts cannot be imported with float8_e4m3fn" "its reason is one line"
is "$(figure squares '"\(.state) \(.correct)"')" "wrong false" "a problem whose kernels stay wrong is not correct"
has "$(figure squares .why)" "y is wrong in " "it is said what the judge found, also where later answers did not reach it"
is "$(figure halves '"\(.state) \(.correct) \(.workloads | length)"')" "scored true 2" "a definition is scored at each workload" \
	"$(cat "$T/out" "$T/err")"
is "$(figure twice '"\(.state) \(.correct)"')" "scored true" "a Python problem is scored" "$(cat "$T/out" "$T/err")"
is "$(figure twice '.workloads[0] | [.ns, .light_ns, ([.ways[] | select(.way == "eager")][0].low), .evidence] | all(. > 0)')" true \
	"it has a time, the speed of light, a ratio against eager with its interval, and evidence"
has "$(figure twice '.workloads[0].by')" "on the CPU" "PyTorch's device is named"
has "$(figure twice .device)" "llvmpipe" "the kernel's device is named"
is "$(figure twice .calls)" 4 "model calls are within the budget"
is "$(figure twice '[.tokens_out, .attempts] | join(" ")')" "80 2" "tokens and attempts are counted"
is "$(sqlite3 "$db" "SELECT count(*) FROM comparison WHERE library LIKE 'PyTorch, eager: torch%' AND id IN (SELECT id FROM comparison_proven)")" 3 \
	"comparisons with PyTorch are rows with evidence"
has "$(figure twice '.workloads[0].params')" "n=4096" "the configuration is named"
[ "$(figure twice .checkpoint)" -gt "$(sqlite3 "$db" "SELECT root_id FROM workflow WHERE name = 'twice'")" ]
ok $? "the fastest checkpoint is scored, not the first kernel"
"$PEAKD_PYTHON" -c 'import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])' "$T/out.svg"
ok $? "the picture is well-formed"
has "$(cat "$T/out.html")" "def &lt;b&gt;" "texts in the report are escaped"
is "$(grep -c '<script\|<link\|src=' "$T/out.html")" 0 "the report needs nothing else"
asked=$(wc -l <"$m/asked")
cp "$T/out.json" "$T/first.json"
bench "$T/problems"
is "$(wc -l <"$m/asked")" "$asked" "a second run asks no model"
is "$(jq -S .problems "$T/out.json")" "$(jq -S .problems "$T/first.json")" "its figures are those of the rows"

# --- in batches -----------------------------------------------------------------------------------------------------------------
# Code is only compiled here; what the drain's machine refuses goes back to the model.
db=$T/b.db device=hlsl:spirv1.3
rounds=0
while bench "$root/tests/daemon/bench/batch" --batch hlsl:0 && grep -q 'next: peakd drain' "$T/out" && [ $rounds -lt 8 ]; do
	[ $rounds -gt 0 ] || is "$(figure thrice '"\(.state) \(.why)"')" "waiting validate waits for hlsl:0" \
		"a first kernel waits to be judged elsewhere"
	rounds=$((rounds + 1))
	rm -rf "$T/work"
	timeout 60 "$peakd" drain export "$T/work" --db "$db" >"$T/drain" 2>&1 &&
		timeout 200 "$peakd" drain run "$T/work" >>"$T/drain" 2>&1 &&
		timeout 60 "$peakd" drain merge "$T/work" --db "$db" >>"$T/drain" 2>&1 || break
done
is "$(figure thrice '"\(.state) \(.correct)"')" "scored true" "a bench in batches ends with a score" "$(cat "$T/out" "$T/drain")"
is "$rounds" 4 "its rounds: two first kernels, a tune, and PyTorch"
told="SELECT CAST(data AS TEXT) FROM blob WHERE CAST(data AS TEXT) LIKE '%The judge refused these kernels%' LIMIT 1"
has "$(sqlite3 "$db" "$told" | grep '^> ')" "of 4096 elements; at (" \
	"the model is told what the judge refused"
done_testing
