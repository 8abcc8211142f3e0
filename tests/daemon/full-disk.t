#!/bin/sh
# A disk that is really full: a small file system of the test's own. A job's end is written as soon as there is space, and a daemon
# starts to read. A daemon whose lock file was deleted is still the only one of its database.
if [ -z "${PEAKD_SMALL_DISK:-}" ]; then
	if unshare -rm mount -t tmpfs none /tmp 2>/dev/null; then
		PEAKD_SMALL_DISK=yes exec unshare -rm "$0"
	fi
	echo "1..0 # SKIP a small file system cannot be mounted here"
	exit 0
fi
. "$(dirname "$0")/lib.sh"
mkdir "$T/disk"
mount -t tmpfs -o size=1200k none "$T/disk" || exit 1
db=$T/disk/a.db
need_hlsl 18 "$T/d.db"
# More configurations than are tuned before the disk is full.
small_context | sed 's/{32, 64}/1<<i for i = 0,9/; s/{4096}/{65536, 131072, 262144}/' >"$T/scale.peak.md"
serve() # serve: starts a daemon as $daemon
{
	rm -f "$T/log" # else the last daemon's may be read
	"$peakd" serve --listen none --db "$db" 2>"$T/log" &
	daemon=$!
	wait_for 60 grep -q 'serving' "$T/log"
}
fill()
{
	dd if=/dev/zero of="$T/disk/fill" bs=1k count=5000 2>/dev/null
	[ "$(df --output=avail "$T/disk" | tail -1)" -eq 0 ]
}
state() { "$peakd" jobs --db "$db" | head -1 | cut -d' ' -f3; }
is_state() { [ "$(state)" = "$1" ]; }

serve
"$peakd" workflow create "$T/scale.peak.md" scale --db "$db" >"$T/out" 2>&1
is $? 0 "a workflow is created" "$(cat "$T/out")"

# --- the lock file is deleted
rm "$db.lock"
"$peakd" serve --listen none --db "$db" 2>"$T/second" &
second=$!
wait_for 60 gone "$second"
ok $? "a second daemon is refused although the lock file was deleted" "$(cat "$T/second")"
kill "$second" 2>/dev/null
has "$(cat "$T/second")" "another peakd" "the second daemon says that another one serves the database"
"$peakd" jobs --db "$db" >"$T/out" 2>&1
is $? 0 "a client finds the daemon whose lock file was deleted" "$(cat "$T/out")"
"$peakd" vacuum --compact --db "$db" >"$T/out" 2>&1
is $? 1 "vacuum --compact is refused although the lock file was deleted"

# --- the disk fills up during a job
"$peakd" tune scale --db "$db" >"$T/tune" 2>&1 &
client=$!
wait_for 60 is_state running
ok $? "a tune job starts" "$("$peakd" jobs --db "$db")"
fill
is $? 0 "the disk is full"
wait $client
is $? 1 "the client fails when the disk is full"
has "$(cat "$T/tune")" "disk is full: free space" "the client says that the disk is full, and no word of peakd's inside" "$(cat "$T/tune")"
is "$(state)" running "the job's end is not written yet"
rm "$T/disk/fill"
wait_for 60 is_state failed
ok $? "the job's end is written when there is space again" "$("$peakd" jobs --db "$db")"

# --- a full disk at the start
kill "$daemon"
wait "$daemon"
fill
serve
"$peakd" workflow log scale --db "$db" >"$T/out" 2>&1
is $? 0 "a daemon starts on a full disk and reads" "$(cat "$T/out" "$T/log")"
"$peakd" workflow tag first scale --db "$db" >"$T/out" 2>&1
has "$(cat "$T/out")" "free space" "a write on a full disk says what to do"
kill "$daemon"
wait "$daemon"
rm "$T/disk/fill"

# --- killed on a full disk during a job
serve
"$peakd" tune scale --seed 7 --db "$db" >"$T/tune" 2>&1 &
client=$!
wait_for 60 is_state running
kill -KILL "$daemon"
wait "$daemon" $client
fill
serve
"$peakd" workflow log scale --db "$db" >"$T/out" 2>&1
is $? 0 "a daemon that was killed starts on a full disk and reads" "$(cat "$T/out" "$T/log")"
rm "$T/disk/fill"
wait_for 60 is_state interrupted
ok $? "jobs are marked as interrupted when there is space again" "$("$peakd" jobs --db "$db"; cat "$T/log")"
has "$(cat "$T/log")" "1 job was interrupted" "the log counts the job that was interrupted"
kill "$daemon"
wait "$daemon"
serve
! grep -q interrupted "$T/log"
ok $? "the next start does not count it again" "$(cat "$T/log")"
"$peakd" check --db "$db" >"$T/out" 2>&1
is $? 0 "the database is whole" "$(cat "$T/out")"
kill "$daemon"
wait "$daemon"
cd / && umount "$T/disk"
done_testing
