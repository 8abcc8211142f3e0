#!/bin/sh
# What MCP can, the shell can: every tool and argument has a verb and an option, and what verbs print suits a terminal, a pipe and a
# program.
. "$(dirname "$0")/lib.sh"
db=$T/a.db
export PEAKD_DB="$db"

peak() { timeout 120 "$peakd" "$@"; }
# Runs a verb at a terminal of 80 columns and strips the terminal's own line ends.
terminal() { script -qec "stty cols ${columns:-80}; timeout 120 $peakd $*" /dev/null </dev/null | tr -d '\r'; }
widest() { sed 's/\x1b\[[0-9;]*m//g' |
	python3 -c 'import sys; print(max(len(line.rstrip("\n")) for line in open(0, encoding="utf-8")))'; }

# Arguments of tools that the shell sets by itself: it waits, shows everything, and names the action by a word.
jq -r 'input_filename as $f | .properties | keys[] | "\($f | sub(".*/"; "") | sub(".input.json"; "")) \(.)"' \
	"$root"/schema/*.input.json |
	grep -v ' \(wait_s\|action\|cursor\|from\|after\|file\)$' >"$T/arguments"
while read -r tool argument; do
	case $tool in
	context_create | workflow | workflow_change | read) verb=workflow ;;
	job | job_control) verb=jobs ;;
	*) verb=$(echo "$tool" | tr _ -) ;;
	esac
	[ -f "$T/help.$verb" ] || "$peakd" help "$verb" >"$T/help.$verb" 2>&1
	case "$tool $argument" in
	# Given by words: `peakd tune AT`, `peakd workflow tag NAME AT`, `peakd draft FILE --declare LINE`.
	*" at" | *" name" | *" a" | *" b" | *" id" | *" transformation" | workflow* | context_create* | read* | *" source" | *" text" | \
		*" answer" | "draft declared" | "transform_submit pending" | "transformations limit") ;;
	*) grep -q -- "^  --$(echo "$argument" | tr _ -) " "$T/help.$verb" ||
		echo "peakd $verb has no option for $argument of $tool" ;;
	esac
	grep -q "^usage: peakd $verb" "$T/help.$verb" || echo "no verb for $tool"
done <"$T/arguments" | sort -u >"$T/lacking"
is "$(cat "$T/lacking")" "" "every tool is a verb, and every argument a word or an option"

small_context | sed 's/^flops: n/flops: n\nbytes: 8*n/' >"$T/scale.peak.md"
is "$(peak workflow create "$T/scale.peak.md" --json | jq -r .workflow)" scale "workflow create --json prints the tool's structure"
need_hlsl 40 "$db"

# A change by hand: out of a file, from standard input, and in an editor.
sed 's/2\.0 \*/2.0f */' "$T/scale.peak.md" >"$T/changed.peak.md"
has "$(peak edit scale "$T/changed.peak.md" --device hlsl:0 2>&1)" "checkpoint 2" "edit AT FILE makes a checkpoint of a file"
has "$(printf '```hlsl\n%s\n```\n' "$(sed -n '/^```hlsl/,/^```$/p' "$T/scale.peak.md" | sed '1d;$d' | sed 's/2\.0/4.0*0.5/')" | peak edit scale - --device hlsl:0 2>&1)" \
	"checkpoint 3" "edit AT - reads standard input"
has "$(EDITOR="sed -i s/4.0.0.5/8.0*0.25/" peak edit scale --region device --device hlsl:0 2>&1)" "checkpoint 4" \
	"edit AT opens the editor"
EDITOR=true peak edit scale >"$T/out" 2>&1
is "$? $(grep -c "nothing was changed" "$T/out")" "130 1" "an editor that changes nothing makes no checkpoint" "$(cat "$T/out")"
EDITOR=false peak edit scale >"$T/out" 2>&1
has "$(cat "$T/out")" "set \$EDITOR, or name a file" "an editor that fails is named"

# As git has it: diff OLD NEW.
has "$(peak workflow diff 1 2)" "+		C[id.x] = 2.0f * A[id.x];" "workflow diff OLD NEW shows what NEW adds"
has "$(peak workflow diff 2 1)" "-		C[id.x] = 2.0f * A[id.x];" "workflow diff the other way round removes it"
has "$(peak workflow diff 2)" "+		C[id.x] = 2.0f * A[id.x];" "workflow diff NEW compares with the parent"

# Terminals.
peak tune 1 --device hlsl:0 --budget 2 >/dev/null 2>&1
peak tune scale --device hlsl:0 --budget 2 >/dev/null 2>&1
peak workflow tag a-tag-with-a-long-name 1 >/dev/null
for verb in "workflow list" "workflow log scale" jobs devices transformations "tune --help" help; do
	# shellcheck disable=SC2086 # words
	wide=$(terminal $verb | widest)
	[ "$wide" -gt 20 ] && [ "$wide" -le 80 ]
	ok $? "peakd $verb fits 80 columns" "$wide"
done
has "$(terminal workflow log scale)" "$(printf '\033[32maccepted')" "a terminal shows states in colours"
is "$(export NO_COLOR=1; terminal workflow log scale | grep -c "$(printf '\033')")" 0 "NO_COLOR turns colours off"
is "$(peak workflow log scale | grep -c "$(printf '\033')")" 0 "a pipe gets no colours"

has "$(peak workflow log scale)" "root draft, tagged a-tag-with-a-long-name" "workflow log shows tags"
has "$(terminal workflow log scale)" "GB/s" "a context with bytes: has its GB/s in the log"
has "$(peak tune 1 --device hlsl:0 --budget 2 --resume)" " GB/s) with " "and in a tune's answer"
has "$(terminal transformations)" "Any kernel that stages" "a terminal gets the summary of every transformation"
is "$(peak jobs --json | jq '[.jobs[] | select((.about | length) > 5 and (.created | length) > 5)] | length > 4')" true \
	"jobs --json says what each job is about"

# A transformation by its path: no model is configured, so transform-begin shows what the file asks for.
sed 's/^name: unroll/name: my-own/; /^fits:/,/reduction/d; s/Choose the loop/Look at the loop/' \
	"$root/transforms/unroll.md" >"$T/my-own.md"
has "$(peak transform-begin scale "$T/my-own.md" --device hlsl:0 2>&1)" "Look at the loop" \
	"transform-begin takes a transformation by path"
sed 's/^name: .*/name: tb-tiling/' "$T/my-own.md" >"$T/other.md"
has "$(peak transform-begin scale "$T/other.md" --device hlsl:0 2>&1)" "give this one another name" \
	"a file may not take the name of a shipped transformation"
has "$(peak transform-begin scale "$T/no-such.md" 2>&1)" "no-such.md: this file cannot be read" \
	"a path that does not exist is no transformation's name"
has "$(peak run "$T/scale.peak.md" --transform "$T/my-own.md" --device hlsl:0 2>&1)" "a file is applied by \`peakd transform\`" \
	"run says where files are taken"
has "$(peak run "$T/scale.peak.md" --transform coarsen,nosuch --device hlsl:0 2>&1)" 'no transformation "nosuch"' \
	"run takes a list of transformations"

peak workflow rm scale --sizes n=1 >"$T/out" 2>&1
is "$? $(grep -c -e "--sizes does not belong to .peakd workflow rm" "$T/out") $(peak workflow list | grep -c "^scale:")" "1 1 1" \
	"an option of another action is refused, and nothing is done" "$(cat "$T/out")"
has "$(peak tune scale --sizes n=3 2>&1)" "peakd tune: --sizes: the context does not declare the size n=3" "a message about an argument names the option"
has "$(peak tun 2>&1)" "did you mean tune?" "a verb that was not typed to its end is suggested"

# Pictures.
peak plot scale >"$T/plot.svg" 2>"$T/err"
is "$? $(python3 -c 'import sys, xml.dom.minidom as m; d = m.parse(sys.argv[1]); print(len(d.getElementsByTagName("circle")) >= 2)' "$T/plot.svg")" "0 True" \
	"plot draws the checkpoints that were timed" "$(head -c 300 "$T/plot.svg" "$T/err")"
peak plot scale --out "$T/plot.svg" >"$T/out" 2>&1
is "$? $(grep -c "add --force" "$T/out")" "1 1" "plot overwrites a file only with --force"

# lint needs no daemon, and names file and line.
peak lint "$T/scale.peak.md" "$root/transforms/unroll.md" --db "$T/none.db" >"$T/out" 2>&1
is "$? $(wc -l <"$T/out") $(ls "$T"/none* 2>/dev/null)" "0 2 " "lint reads contexts and transformations without a daemon" \
	"$(cat "$T/out")"
sed 's/cdiv(n, BX)/cdiv(n, BQ)/' "$T/scale.peak.md" >"$T/undefined.peak.md"
peak lint "$T/undefined.peak.md" >"$T/out" 2>&1
is "$? $(grep -c "^$T/undefined.peak.md:$(grep -n BQ "$T/undefined.peak.md" | cut -d: -f1): " "$T/out")" "1 1" \
	"lint names the line of a mistake in host code" "$(cat "$T/out")"
# What lint finds in host code, the daemon finds when the workflow is asked for, and names it by the same line.
host=$(grep -n '^```lua host' "$T/scale.peak.md" | cut -d: -f1)
mistaken() # mistaken SED LINE TEXT
{
	sed "$1" "$T/scale.peak.md" >"$T/mistaken.peak.md"
	peak workflow create "$T/mistaken.peak.md" >"$T/out" 2>&1
	is "$? $(grep -c -F "mistaken.peak.md:$2: $3" "$T/out")" "1 1" "no workflow is made of a file with a mistake: $3" "$(cat "$T/out")"
}
mistaken 's/cdiv(n, BX)/cdiv(n, BQ)/' $((host + 1)) "host code: cdiv: expected a number"
mistaken 's/^launch(/while true do end\n&/' $((host + 1)) "host code: more than "
mistaken 's/^launch(/-- &/' "$host" "host code: plan: host code launched no kernel"
mistaken 's/launch("scale"/launch("scale",/' $((host + 1)) "host code: unexpected symbol near"
mistaken 's/  n: int = .*/  n: int = -1/' "$(grep -n '  A:' "$T/scale.peak.md" | cut -d: -f1)" "inputs: A: an extent is -1"

# --json: one document for each verb, with the members that docs/cli.md lists.
json() # json VERB ARGUMENTS…: VERB as the table has it
{
	verb=$1
	shift
	peak "$@" --json >"$T/json" 2>"$T/err"
	grep -F "\`$verb\`" "$root/docs/cli.md" | grep '^|' | grep -o '`[a-z_]*`' | tr -d '`' | sort -u >"$T/members"
	jq -rs 'length, (.[0] | keys[])' "$T/json" >"$T/keys" 2>&1
	echo "$verb: $(head -1 "$T/keys")$(tail -n +2 "$T/keys" | sort | comm -23 - "$T/members" | sed 's/^/ undocumented /' | tr '\n' ' ')"
}
job=$(peak jobs --json | jq -r '.jobs[0].job')
for row in "workflow list:workflow list" "workflow log:workflow log scale" "plot:plot scale" "workflow show:workflow show 1" \
	"workflow show:workflow show 1 source" \
	"workflow diff:workflow diff 2" "workflow compare:workflow compare 4" "workflow page:workflow page scale" \
	"workflow export:workflow export 4" \
	"workflow restore:workflow tag other 1" "transformations:transformations" "transformations:transformations unroll" \
	"jobs:jobs" "jobs log:jobs log $job" \
	"jobs get:jobs get $job" "devices:devices" "validate:validate 1 --device hlsl:0" "lint:lint $T/scale.peak.md" \
	"transform-begin:transform-begin scale coarsen --device hlsl:0" "knowledge:knowledge" "vacuum:vacuum" "check:check" \
	"backup:backup $T/backup.db" \
	"profile --list-tools:profile --list-tools" "optimize --list-policies:optimize --list-policies" \
	"version:version"; do
	# shellcheck disable=SC2086 # words
	json "${row%%:*}" ${row#*:}
done | grep -v ': 1$' >"$T/wrong"
is "$(cat "$T/wrong")" "" "every verb prints one JSON document, whose members are documented"
is "$(peak tune nothing --json 2>/dev/null | jq -r .error | grep -c 'no workflow, tag or checkpoint nothing')" 1 \
	"a failure is {\"error\": ...} with --json"

# stop ends the daemon, also by its socket, and says when there is none.
pid=$(holder "$db")
is "$(peak stop --json | jq .process)" "$pid" "stop names the daemon that it ended"
gone "$pid"
ok $? "after stop the daemon is gone"
has "$(peak stop)" "no daemon runs" "stop says that no daemon runs"
peak stop --db "$T/nothing.db" >"$T/out" 2>&1
is "$? $(ls "$T"/nothing* 2>/dev/null)" "1 " "stop makes no database" "$(cat "$T/out")"
done_testing
