#!/bin/sh
# peakd optimize against a device that is reached in batches: tunes wait for a drain, and the search goes on when they are merged.
. "$(dirname "$0")/lib.sh"
db=$T/a.db m=$T/model
need_hlsl 19 "$T/d.db"
mkdir "$m"
printf 'five lines that begin with PLAN\n' >"$m/1.when"
printf 'PLAN 3.0-20 novelty 2: Multiply by two once in place of the loop.\nPLAN 1.1-1.5 novelty 5: Add twice the element in half the rounds.\n' >"$m/1.answer"
code() # code NAME WORDS BODY
{
	printf '%s\n' "$2" >"$m/$1.when"
	printf '```hlsl\n[numthreads(BX, 1, 1)]\nvoid scale(uint3 id : SV_DispatchThreadID)\n{\n\tif (id.x < uint(n)) {\n\t\t%s\n\t}\n}\n```\n' "$3" >"$m/$1.answer"
}
code 2 'Multiply by two once' 'C[id.x] = 2.0 * A[id.x];'
code 3 'Add twice the element' 'float s = 0; for (int k = 0; k < 1024; k++) s += 2 * A[id.x]; C[id.x] = s / 1024;'
python3 "$root/tests/daemon/planner.py" "$m" >"$T/port" &
model=$!
trap 'kill $model; finish' EXIT
wait_for 60 test -s "$T/port"
export PEAKD_MODEL="openai:http://127.0.0.1:$(cat "$T/port")/v1?model=planner&retries=0"
small_context | sed 's/{4096}/{1024}/; s/{32, 64}/{32, 64}/; s,C\[id.x\] = 2.0 \* A\[id.x\];,{ float s = 0; for (int k = 0; k < 2048; k++) s += A[id.x]; C[id.x] = s / 1024; },' \
	>"$T/scale.peak.md"
timeout 60 "$peakd" workflow create "$T/scale.peak.md" --db "$db" >/dev/null

optimize() # optimize OPTIONS
{
	timeout 240 "$peakd" optimize 1 --db "$db" --policy beam --samples 2 --tune 2 --batch hlsl:0 \
		--json "$@" >"$T/out" 2>"$T/err"
}
drain()
{
	rm -rf "$T/bundle"
	timeout 60 "$peakd" drain export "$T/bundle" --db "$db" >"$T/drain" 2>&1 &&
		timeout 300 "$peakd" drain run "$T/bundle" >>"$T/drain" 2>&1 &&
		timeout 60 "$peakd" drain merge "$T/bundle" --db "$db" >>"$T/drain" 2>&1
}
optimize --experiments 2
ok $? "a search that times elsewhere ends when it must wait" "$(cat "$T/err")"
first=$(jq -r .job "$T/out")
has "$(jq -r .result.stopped "$T/out")" "hlsl:0 first measures what limits the start" "no model is asked before the start's profile is there"
drain
ok $? "which a first drain brings" "$(cat "$T/drain")"
optimize --experiments 2 --continue "$first"
ok $? "then the search makes experiments" "$(cat "$T/err")"
is "$(jq -r .result.stopped "$T/out")" "budget: 2 experiments" "it says why it ends"
is "$(timeout 60 "$peakd" optimize explain "$first" --db "$db" --json | jq -c '[.decisions[].outcome]')" \
	'["measured","stopped","answered","waiting","waiting","stopped"]' "what was made waits to be timed"
drain
ok $? "its tunes run elsewhere and are merged" "$(cat "$T/drain")"
is "$(sqlite3 "$db" "SELECT group_concat(state) FROM (SELECT state FROM job WHERE kind = 'profile')")" done,done,done \
	"profiles come with them"
pairs='SELECT a.hash, b.hash, c.sizes, a_params, b_params, ratio, low, high, hex(samples), a_start, c.created_ms,
	c.id IN (SELECT id FROM comparison_proven), (SELECT verdict || params FROM validation v WHERE v.id = a_validation)
	FROM comparison c JOIN checkpoint a ON a.id = a_id JOIN checkpoint b ON b.id = b_id ORDER BY c.created_ms, c.id'
[ -n "$(sqlite3 "$db" "$pairs")" ]
ok $? "pairs that were timed elsewhere are merged"
sqlite3 "$T/bundle/jobs.peakdb" "$pairs" | sort >"$T/pairs"
is "$(sqlite3 "$db" "$pairs" | grep -Fxf "$T/pairs" | sort)" "$(cat "$T/pairs")" "with their evidence"
optimize --experiments 1 --continue "$first"
ok $? "the search continues" "$(cat "$T/err")"
is "$(timeout 60 "$peakd" optimize explain "$first" --db "$db" --json | jq -c '[.decisions[0:5][] | .outcome] | [.[0] == "measured", any(. == "waiting")]')" \
	'[true,false]' "with what was merged"
is "$(timeout 60 "$peakd" optimize explain "$first" --db "$db" --json | jq '[.decisions[0:5][] | select(.profile_job)] | length')" 3 \
	"and with the profiles"
is "$(jq .result.best "$T/out")" 2 "and knows the fastest checkpoint" "$(timeout 60 "$peakd" optimize explain "$first" --db "$db")"
optimize --experiments 1 --continue "$(jq -r .job "$T/out")"
ok $? "a search is continued by the id of the job that continued it, too" "$(cat "$T/err")"
is "$(sqlite3 "$db" "SELECT count(DISTINCT search) FROM decision")" 1 "and stays one search"
# The next machine has another device of the same kind: everything was measured on one that is gone.
kill "$(holder "$db")"
gone()
{
	! holder "$db" >/dev/null
}
wait_for 30 gone
sqlite3 "$db" "$(sqlite3 "$db" "SELECT 'DROP TRIGGER validation_is_final; UPDATE measurement SET device = ''gone''; UPDATE validation SET device = ''gone''; ' || sql
	FROM sqlite_master WHERE name = 'validation_is_final'")"
timeout 120 "$peakd" compare 2 --device hlsl:0 --db "$db" >"$T/out" 2>"$T/err"
ok $? "a pair that was tuned on another device is timed here" "$(cat "$T/err")"
timeout 60 "$peakd" optimize 2 --db "$db" --continue "$first" >"$T/out" 2>"$T/err"
has "$(cat "$T/err")" "is not a search that began at checkpoint 2" "a search is continued from where it began"
# Prompts on a device that only compiles find what a device of its class measured, also where a tune had nothing to compare.
small_context | sed 's/{32, 64}/{32}/' >"$T/one.peak.md"
timeout 60 "$peakd" workflow create "$T/one.peak.md" --db "$T/one.db" >/dev/null
timeout 240 "$peakd" tune 1 --db "$T/one.db" >"$T/out" 2>&1
is "$(sqlite3 "$T/one.db" "SELECT count(*) FROM measurement m JOIN fact f ON f.device = m.device AND f.key = 'class'
	WHERE m.status = 'ok' AND NOT EXISTS (SELECT 1 FROM comparison)" | sed 's/^[1-9][0-9]*$/known/')" known \
	"a tune tells its device's class, also without a comparison" "$(cat "$T/out")"
done_testing
