#!/bin/sh
# Damage in the database is an error wherever it is met: at the start, in answers, in `peakd check` and `peakd backup`. It never
# reads as "nothing there". A backup is one whole file.
. "$(dirname "$0")/lib.sh"
db=$T/a.db
need_hlsl 29 "$T/d.db"
small_context >"$T/scale.peak.md"
timeout 120 "$peakd" run "$T/scale.peak.md" --db "$db" --budget 2 --samples 2 >"$T/out" 2>&1
is $? 0 "a workflow is tuned" "$(cat "$T/out")"
end_daemon() # end_daemon DATABASE
{
	pid=$(holder "$1")
	kill "$pid"
	wait_for 60 gone "$pid"
}

# --- a whole database
"$peakd" backup "$T/live.db" --db "$db" >"$T/out" 2>&1
is $? 0 "a backup is made while the daemon works" "$(cat "$T/out")"
is "$(ls "$T" | grep -c '^live')" 1 "a backup is one file"
is "$(sqlite3 "$T/live.db" "SELECT count(*) FROM measurement; PRAGMA integrity_check" | tr '\n' ' ')" \
	"$(sqlite3 "$db" "SELECT count(*) FROM measurement") ok " "a backup has all rows"
"$peakd" backup "$T/live.db" --db "$db" >"$T/out" 2>&1
is $? 1 "a backup replaces no file without --force"
"$peakd" backup "$T/live.db" --force --db "$db" >"$T/out" 2>&1
is $? 0 "a backup replaces a file with --force" "$(cat "$T/out")"
"$peakd" check --db "$db" >"$T/out" 2>&1
is $? 0 "a whole database passes the check beside the daemon" "$(cat "$T/out")"
"$peakd" check --db "$T/mistyped.db" >"$T/out" 2>&1
is $? 1 "check does not make a database"
"$peakd" workflow log scale --db "$T/live.db" >"$T/restored" 2>&1
"$peakd" workflow log scale --db "$db" >"$T/log" 2>&1
is "$(cat "$T/restored")" "$(cat "$T/log")" "a backup is a database that a daemon serves"

# --- what the rows say
sqlite3 "$T/live.db" "UPDATE job SET ended_ms = 0; UPDATE blob SET data = CAST(data || 'x' AS BLOB) WHERE rowid = 1"
"$peakd" check --db "$T/live.db" >"$T/out" 2>&1
is $? 1 "check fails when rows disagree"
has "$(cat "$T/out")" "its row says that it ended at 0" "check names a job whose times are wrong"
has "$(cat "$T/out")" "has another hash" "check names a content whose hash is wrong"

# --- pages that are damaged while the daemon serves them
page() { sqlite3 "$db" "SELECT rootpage FROM sqlite_schema WHERE name = '$1'"; }
damage() # damage FILE TABLE
{
	dd if=/dev/urandom of="$1" bs=4096 seek=$(($(page "$2") - 1)) count=1 conv=notrunc 2>/dev/null
}
end_daemon "$db"
job=$(sqlite3 "$db" "SELECT id FROM job WHERE kind = 'tune'")
for table in measurement validation blob; do
	cp "$db" "$T/$table.db"
	timeout 60 "$peakd" jobs --db "$T/$table.db" >/dev/null
	damage "$T/$table.db" $table
	# A write of another process makes the daemon read the pages anew.
	sqlite3 -cmd '.timeout 10000' "$T/$table.db" "INSERT INTO fact VALUES ('d', 'k', 'v', 1)"
	"$peakd" workflow log scale --db "$T/$table.db" >"$T/out" 2>&1
	is $? 1 "log fails when a page of $table is damaged" "$(cat "$T/out")"
	has "$(cat "$T/out")" "is damaged" "log says that the database is damaged ($table)"
	"$peakd" workflow export scale --out "$T/exported" --db "$T/$table.db" >"$T/out" 2>&1
	has "$(cat "$T/out")" "is damaged" "export says that the database is damaged ($table)"
	end_daemon "$T/$table.db"
done

# --- a probe of the daemon tells of damage that any request met
cp "$db" "$T/probed.db"
"$peakd" serve --listen 127.0.0.1:0 --db "$T/probed.db" 2>"$T/serve.log" &
wait_for 60 grep -q serving "$T/serve.log"
url=$(sed -n 's,.*\(http://127.0.0.1:[0-9]*\)/mcp.*,\1,p' "$T/serve.log")
is "$(curl -s --max-time 60 "$url/healthz" | head -1)" ok "/healthz is well before the damage"
damage "$T/probed.db" measurement
sqlite3 -cmd '.timeout 10000' "$T/probed.db" "INSERT INTO fact VALUES ('d', 'k', 'v', 1)"
"$peakd" workflow log scale --db "$T/probed.db" >"$T/out" 2>&1
is "$(curl -s -w '%{http_code}' --max-time 60 "$url/healthz" | sed -n '1,2p;$p' | tr '\n' ' ')" \
	'failing database: damaged; `peakd check` says where 503' "/healthz fails once damage was met"
end_daemon "$T/probed.db"

# --- damage that is there at the start
cp "$db" "$T/start.db"
damage "$T/start.db" measurement_by_run
"$peakd" jobs --db "$T/start.db" >"$T/out" 2>&1
is $? 1 "a daemon does not start on a damaged database"
has "$(cat "$T/out")" "the database is damaged" "the client says why the daemon does not start"
"$peakd" check --db "$T/start.db" >"$T/out" 2>&1
is $? 1 "check finds a damaged page" "$(cat "$T/out")"
cp "$db" "$T/worse.db"
damage "$T/worse.db" blob
"$peakd" backup "$T/bad.db" --db "$T/worse.db" >"$T/out" 2>&1
is $? 1 "a damaged database gives no backup"
is "$(ls "$T" | grep -c '^bad')" 0 "a backup that fails leaves no file"

# --- a job that was asked for before the clock was set back
sqlite3 "$db" "UPDATE job SET created_ms = created_ms + 86400000, started_ms = started_ms + 86400000, ended_ms = ended_ms + 86400000"
new=$("$peakd" validate scale --samples 1 --db "$db" --json 2>"$T/err" | jq -r .job)
is "$("$peakd" jobs --db "$db" | head -1 | cut -d' ' -f1)" "$new" "the newest job is listed first after the clock was set back" \
	"$(cat "$T/err")"
done_testing
