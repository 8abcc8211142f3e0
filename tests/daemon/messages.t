#!/bin/sh
# Wrong command lines and wrong surroundings: one clear message on stderr, the right exit status, and nothing on standard output.
. "$(dirname "$0")/lib.sh"
db=$T/a.db

wrong() # wrong STATUS PART ARGUMENTS…
{
	status=$1 part=$2
	shift 2
	timeout 120 "$peakd" "$@" >"$T/out" 2>"$T/err" </dev/null
	is $? "$status" "peakd $* exits with status $status"
	has "$(cat "$T/err")" "$part" "peakd $*: the error says: $part"
	is "$(cat "$T/out")" "" "peakd $* prints nothing on standard output"
}

wrong 2 "did you mean serve?" serv
wrong 2 "did you mean --device?" tune mm --devcie hlsl:0 --db "$db"
wrong 2 "--budget needs a value" tune mm --budget
wrong 1 '--over: given "foo", allowed: "each"' tune mm --over foo --db "$db"
wrong 1 '--sanitizer: given "foo"' validate mm --sanitizer foo --db "$db"
wrong 2 "is not an integer" tune mm --budget many --db "$db"
wrong 2 "is not a number" optimize mm --money much --db "$db"
wrong 2 "unexpected argument" devices all --db "$db"
wrong 2 "FILE.peak.md is missing; usage: peakd run FILE.peak.md" run --db "$db"
wrong 2 "FOLDER is missing; usage: peakd drain ACTION FOLDER" drain export --db "$db"
wrong 2 "did you mean export?" workflow exprot --db "$db"
wrong 2 "peakd workflow restore NAME AT" workflow restore mm --db "$db"
wrong 2 "error, warning, info or debug" devices --log-level loud --db "$db"
wrong 2 "--listen" serve --listen nowhere --db "$db"
wrong 1 "begins with http:// or https://" serve --listen none --model openai:127.0.0.1:9?model=m --db "$db.2"
wrong 1 "(did you mean key_env?)" serve --listen none --model "openai:http://127.0.0.1:9/v1?model=m&kye_env=K" --db "$db.2"
wrong 1 "need --token-file, --tls-cert and --tls-key" serve --listen 0.0.0.0:0 --db "$db.2"
echo secret >"$T/token"
echo "no certificate" >"$T/cert.pem"
wrong 1 "a TLS certificate and key" serve --listen 0.0.0.0:0 --token-file "$T/token" --db "$db.2"
wrong 2 "need each other" serve --listen 0.0.0.0:0 --token-file "$T/token" --tls-cert "$T/cert.pem" --db "$db.2"
wrong 1 "are certificate and key PEM files" serve --listen 0.0.0.0:0 --token-file "$T/token" --tls-cert "$T/cert.pem" --tls-key "$T/cert.pem" --db "$db.2"
timeout 120 "$peakd" selftest --only no-such --db "$db" >/dev/null 2>"$T/err"
is $? 1 "a selftest that matches no specimen exits with status 1"
has "$(cat "$T/err")" "has 'no-such' in its name" "a selftest that matches no specimen says so"
wrong 1 "cannot be read" run "$T/none.peak.md" --db "$db"
small_context >"$T/stepless.peak.md"
wrong 1 "nosuch" run "$T/stepless.peak.md" --model replay:nosuch --device hlsl:0 --db "$db"
wrong 1 "the context does not declare the size n=4097, but n=4096" run "$T/stepless.peak.md" --sizes n=4097 --device hlsl:0 --db "$db"
wrong 1 "name a checkpoint by its hash" workflow create "$T/stepless.peak.md" c0ffee --db "$db"
wrong 1 "none" workflow log none --db "$db"
small_context | sed 's/^tune:/tuen:/' >"$T/bad.peak.md"
wrong 1 "bad.peak.md:8" run "$T/bad.peak.md" --db "$db"
small_context >"$T/scale.peak.md"
timeout 120 "$peakd" run "$T/scale.peak.md" --device hlsl:7 --db "$db" >"$T/out" 2>"$T/err"
is $? 1 "a device that does not exist gives exit status 1"
has "$(cat "$T/err")" "peakd devices" "an unknown device is answered with peakd devices"
wrong 2 "did you mean get?" jobs gte x --db "$db"
wrong 2 "peakd jobs get ID" jobs get --db "$db"
wrong 1 "there is no job none" jobs log none --db "$db"
printf 'no database at all, but long enough to be read as one: %0200d' 0 >"$T/text.db"
wrong 1 "text.db" devices --db "$T/text.db"
sqlite3 "$T/new.db" "PRAGMA user_version=9999; PRAGMA application_id=1346715979; CREATE TABLE t(x);" 2>"$T/sqlite.err"
wrong 1 "newer peakd" devices --db "$T/new.db"
wrong 1 "cannot be used (mkdir makes it, --db names another file): No such file" devices --db "$T/no/such/folder/a.db"
wrong 1 "cannot be used (mkdir makes it, --db names another file): No such file" devices --db "$T/mistyped/a.db"
wrong 1 "cannot be used (mkdir makes it, --db names another file): No such file" serve --listen none --db "$T/mistyped/a.db"
is "$(ls "$T/mistyped" 2>&1 | grep -c cannot)" 1 "no folder is made under a mistyped name"
wrong 1 "there is no such database" vacuum --db "$T/no-such.db"
is "$(ls "$T/no-such.db" 2>&1 | grep -c cannot)" 1 "vacuum makes no database under a mistyped name"
sqlite3 "$T/kernels.db" "CREATE TABLE t(x)"
wrong 2 "there is no database $T/kernel.db; did you mean $T/kernels.db? --new makes a new one" serve --listen none --db "$T/kernel.db"
is "$(ls "$T/kernel.db" 2>&1 | grep -c cannot)" 1 "serve makes no database under a mistyped name"
wrong 2 "--token-file" serve --token-file "$T/none" --listen none --db "$db.2"

# A draft that leaves questions open says how to answer them.
printf '__global__ void f(float *x, int n) { x[n] = 1; }\nint main() { f<<<1, 32>>>(x, n); }\n' >"$T/f.cu"
wrong 1 "with --declare 'LINE'" draft "$T/f.cu" --db "$db"

for n in 0 1; do
	PEAKD_MODEL="openai:http://127.0.0.1:9/v1?model=m&retries=$n" timeout 120 "$peakd" draft "$T/f.cu" --model default --db "$T/retries$n.db" 2>"$T/err$n"
done
is "$(grep -c "after 2 tries" "$T/err0" "$T/err1" | sed 's/.*://' | tr '\n' ' ')" "0 1 " "retries=0 asks a model once, retries=1 twice"

# A context file where a checkpoint is wanted: the message says how to make a checkpoint of it.
wrong 1 "begins one" tune scale --db "$T/fresh.db"
wrong 2 "there is no region 'dev'; there are device, host and macros" edit scale --region dev --db "$T/fresh.db"
wrong 1 "peakd workflow create $T/scale.peak.md" validate "$T/scale.peak.md" --db "$T/fresh.db"
wrong 1 "peakd workflow create" tune "$T/scale.peak.md" --db "$db"
wrong 1 "bad.peak.md:8" workflow create "$T/bad.peak.md" --db "$T/fresh.db"
has "$(timeout 120 "$peakd" workflow create "$T/scale.peak.md" --db "$T/fresh.db")" "workflow scale: checkpoint 1" "workflow create makes a workflow of a file"
has "$(timeout 120 "$peakd" workflow create "$T/scale.peak.md" --db "$T/fresh.db")" "there already" "workflow create makes only one workflow of a file"
has "$(timeout 120 "$peakd" workflow create "$T/scale.peak.md" mine --db "$T/fresh.db")" "workflow mine" "workflow create takes another name for the workflow"

# A variable that only a starting daemon reads has no effect on a running one, and the client says so.
timeout 120 "$peakd" workflow list --db "$T/fresh.db" >"$T/out" 2>"$T/err"
is "$(cat "$T/err")" "" "the client warns of nothing when no variable is too late"
PEAKD_MODEL="openai:http://127.0.0.1:9/v1?model=m" PEAKD_DB="$T/fresh.db" timeout 120 "$peakd" workflow list >"$T/out" 2>"$T/err"
has "$(cat "$T/err")" "PEAKD_MODEL is not set there. \`peakd stop\` ends it" "the client warns of a variable that the running daemon does not see"
has "$(cat "$T/err")" "process $(holder "$T/fresh.db")" "the warning names the process to end"
has "$(cat "$T/out")" "scale" "the client answers in spite of the warning"
PEAKD_MODEL="openai:http://127.0.0.1:9/v1?model=m" timeout 120 "$peakd" workflow list --db "$T/model.db" >"$T/out" 2>"$T/err"
is "$(cat "$T/err")" "" "no warning about a variable that the daemon was started with"
PEAKD_MODEL="openai:http://127.0.0.1:9/v1?model=n" timeout 120 "$peakd" workflow list --db "$T/model.db" >"$T/out" 2>"$T/err"
has "$(cat "$T/err")" "PEAKD_MODEL has another value there" "the client says which variable has another value"

# The list of jobs says what each job was about, and jobs log shows a long log completely.
is "$(timeout 120 "$peakd" jobs --db "$T/empty.db")" "no jobs yet" "the list of jobs says that there are none"
timeout 120 "$peakd" workflow create "$T/scale.peak.md" --db "$db" >/dev/null
if [ "$("$peakd" devices --db "$db" --json | jq '[.devices[] | select(.id == "hlsl:0")] | length')" = 1 ]; then
	timeout 120 "$peakd" transform scale "Say what it does" --model replay:matmul-fp32-hlsl --device hlsl:0 --db "$db" >/dev/null 2>&1
	has "$(timeout 120 "$peakd" jobs --db "$db" | head -n 1)" "transform failed (scale, checkpoint 1, Say what it does, hlsl:0) 20" \
		"the list of jobs says what a job was about"
	sed 's/C.id.x. = .*/return;/' "$T/scale.peak.md" >"$T/idle.peak.md"
	timeout 120 "$peakd" workflow create "$T/idle.peak.md" --db "$T/idle.db" >"$T/out" 2>&1
	timeout 120 "$peakd" validate idle --samples 1 --db "$T/idle.db" >"$T/out" 2>"$T/err"
	has "$(cat "$T/out" "$T/err")" "C was never written, and the baseline gives NaN" "a baseline that writes nothing is told so" "$(cat "$T/out" "$T/err")"
	is "$(grep -c -- '-nan' "$T/out")" 0 "and NaN has no sign"
	sed 's/uint(n)/uint(n)\/2/' "$T/scale.peak.md" >"$T/half.peak.md"
	timeout 120 "$peakd" workflow create "$T/half.peak.md" --db "$T/idle.db" >"$T/out" 2>&1
	timeout 120 "$peakd" validate half --samples 1 --db "$T/idle.db" >"$T/out" 2>"$T/err"
	has "$(cat "$T/out" "$T/err")" "C was never written in 2048 of its 4096 elements, and the baseline gives NaN in as many" \
		"a baseline that writes half of its output is told so" "$(cat "$T/out" "$T/err")"
	has "$(timeout 120 "$peakd" jobs --db "$db" | head -n 1)" "replay:matmul-fp32-hlsl holds no answer" "the list of jobs says why a job failed"
else
	printf '__global__ void f(float *x) { x[0] = 1; }\n' >"$T/f.cu"
	timeout 120 "$peakd" draft "$T/f.cu" --model replay:none --db "$db" >/dev/null 2>&1
	skip 5 "no device runs HLSL here"
fi
job=$(timeout 120 "$peakd" jobs --db "$db" --json | jq -r '.jobs[0].job')
wrong 1 "only an interrupted job can be resumed" jobs resume "$job" --db "$db"
sqlite3 "$db" "WITH RECURSIVE n(i) AS (VALUES(101) UNION ALL SELECT i + 1 FROM n WHERE i < 200)
	INSERT INTO job_event (job_id, seq, created_ms, kind, progress, total, message) SELECT '$job', i, 0, 'line', 0, 0, 'line ' || i FROM n"
is "$(timeout 120 "$peakd" jobs log "$job" --db "$db" | tail -n 1)" "200 1970-01-01T00:00:00Z line line 200" "a long log is shown to its end, with times"
is "$(timeout 120 "$peakd" jobs log "$job" --db "$db" --json | jq '.events | length > 100')" true "jobs log --json shows a long log to its end"

is "$("$peakd" help | grep -c '^  serve ')" 1 "peakd help lists the verbs"
has "$("$peakd" run --help)" "--sequence NAME" "peakd VERB --help lists its options"
has "$("$peakd" help tune)" "--budget N" "peakd help VERB lists the options of a verb"
has "$("$peakd" version)" "peakd 0." "peakd version prints the version"
has "$(PEAKD_DB=$T/env.db timeout 120 "$peakd" workflow list; ls "$T")" "env.db" "\$PEAKD_DB names the database"
timeout 120 "$peakd" workflow list >/dev/null
is "$(ls "$T/data/peakd/peakd.db")" "$T/data/peakd/peakd.db" "without \$PEAKD_DB the database is in \$XDG_DATA_HOME"
done_testing
