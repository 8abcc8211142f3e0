#!/bin/sh
# One daemon at a time uses a device, whatever user, umask and folder for temporary files the daemons have.
. "$(dirname "$0")/lib.sh"
need_hlsl 5 "$T/a.db"
small_context >"$T/scale.peak.md"
hold_device "$T/a.db"

# Another folder for temporary files, which others may not read, and no lock file anywhere.
mkdir -m 700 "$T/private"
(umask 077; TMPDIR=$T/private timeout 200 "$peakd" run "$T/scale.peak.md" --db "$T/b.db" --budget 2 --samples 1 >"$T/out" 2>&1) &
client=$!
waits() # succeeds when the job's events say that it waits
{
	sqlite3 "$T/b.db" "SELECT 1 FROM job_event WHERE message LIKE '%waiting for hlsl:0: process $holding uses it%'" 2>/dev/null | grep -q 1
}
wait_for 60 waits
is $? 0 "a daemon with another TMPDIR and umask waits for the device and names its holder" "$(cat "$T/out")"
is "$(find "$T/private" "$T/tmp" -name '*peakd-device*' | wc -l)" 0 "the device lock is not a file in a temporary folder"
let_go
wait "$client"
is $? 0 "the waiting job continues once the device is free" "$(cat "$T/out")"

if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	mkdir -m 700 "$T/other"
	cp "$T/scale.peak.md" "$T/other"
	chown -R 65534:65534 "$T/other"
	chmod 711 "$T"
	other() # runs as the user nobody, who shares nothing with root
	{
		(cd "$T/other" && XDG_RUNTIME_DIR="$T/other" XDG_DATA_HOME="$T/other" XDG_CACHE_HOME="$T/other" HOME="$T/other" \
			TMPDIR="$T/other" \
			setpriv --reuid=65534 --regid=65534 --clear-groups timeout 200 "$@")
	}
	if other test -x "$peakd" && other test -r "$root/tests/daemon/lib.sh"; then
		hold_device "$T/a.db"
		other "$peakd" run scale.peak.md --db "$T/other/o.db" --budget 2 --samples 1 >"$T/other.out" 2>&1 &
		client=$!
		theirs() { test -s "$T/other/o.db" && sqlite3 -readonly "$T/other/o.db" \
			"SELECT 1 FROM job_event WHERE message LIKE '%waiting for hlsl:0: process $holding uses it%'" 2>/dev/null |
			grep -q 1; }
		wait_for 60 theirs
		is $? 0 "another user's daemon waits for the device" "$(cat "$T/other.out")"
		let_go
		wait "$client"
		is $? 0 "another user's daemon gets the device once it is free" "$(cat "$T/other.out")"
		other "$peakd" stop --db "$T/other/o.db" >/dev/null 2>&1
	else
		skip 2 "another user cannot read the source tree"
	fi
else
	skip 2 "not root: there is no other user to be"
fi
done_testing
