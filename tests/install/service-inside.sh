#!/bin/sh
# The checks of service.t, run by the systemd of a booted system, as root. Each prints one line: "ok NAME" or "not ok NAME".
cd /shared || exit 1
export LC_ALL=C.UTF-8 PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root
db=/var/lib/peakd/peakd.db
check() # check NAME COMMAND…: succeeds when the command does; its output explains a failure
{
	name=$1
	shift
	echo "$(cut -d' ' -f1 /proc/uptime) $name" >&2
	if "$@" >/tmp/said 2>&1; then
		echo "ok $name"
	else
		echo "not ok $name"
		sed 's/^/    /' /tmp/said
		journalctl -q -n 8 -o cat -u peakd.service --no-pager 2>/dev/null | sed 's/^/    /'
	fi
}
until_true() # until_true SECONDS COMMAND…
{
	tries=$(($1 * 20))
	shift
	until "$@" >/dev/null 2>&1; do
		tries=$((tries - 1))
		[ $tries -gt 0 ] || return 1
		sleep 0.05
	done
}
property()
{
	systemctl show -P "$1" peakd.service
}
drop_in() # drop_in NAME <TEXT: applies a drop-in of the unit
{
	mkdir -p /etc/systemd/system/peakd.service.d
	cat >"/etc/systemd/system/peakd.service.d/$1.conf"
	systemctl daemon-reload
}

find /usr /etc /var/lib /var/cache -xdev 2>/dev/null | grep -v '/dpkg/\|/man/' | sort >/tmp/before
check "the package installs" dpkg -i /shared/peakd.deb
check "the manual pages are found" sh -c 'man -w peakd && man -w peakd.conf'
check "the package does not start the service by itself" sh -c '! systemctl is-active -q peakd.service peakd.socket'

# --- the service -----------------------------------------------------------------------------------------------------------------
check "the service starts" systemctl start peakd.service
exposure()
{
	systemd-analyze security peakd.service --no-pager | sed -n 's/.*exposure level for peakd.service: \([0-9.]*\).*/\1/p'
}
level=$(exposure)
check "systemd-analyze security rates the unit $level, 1.5 or less" awk "BEGIN { exit !(\"$level\" != \"\" && $level <= 1.5) }"
closed() # what systemd could not apply it leaves out silently, so the process itself is asked
{
	cat "/proc/$(property MainPID)/status"
	grep -q '^Seccomp:.*2' "/proc/$(property MainPID)/status" && grep -q '^NoNewPrivs:.*1' "/proc/$(property MainPID)/status" &&
		grep -q '^CapBnd:.*0000000000000000' "/proc/$(property MainPID)/status" &&
		! nsenter -t "$(property MainPID)" -m test -e /dev/fuse -o -e /proc/meminfo -o -e /dev/console
}
check "the daemon has a filter of system calls, no capabilities, no devices and no /proc/meminfo" closed
check "a verb of root finds the service's socket at once" timeout 10 peakd jobs --db $db
check "the service's workers close their sandbox" sh \
	-c "peakd devices --db $db --json >/tmp/devices && cat /tmp/devices && ! grep -qi 'landlock\|seccomp\|OFF by' /tmp/devices"
check "the service validates and tunes a kernel" timeout 100 peakd run /shared/scale.peak.md --device hlsl:0 --samples 2 \
	--budget 2 --db $db
useradd -m -G peakd member
useradd -m stranger
check "a user who may not see the database is refused at once" sh \
	-c "! timeout 10 setpriv --reuid stranger --regid stranger --init-groups peakd jobs --db $db; [ \$? != 124 ]"
check "systemctl reload is answered" sh -c 'systemctl reload peakd.service && systemctl is-active peakd.service'

# The lock of a device reaches past PrivateTmp and PrivateUsers, to daemons outside the service.
lock()
{
	uuid=$(peakd devices --db $db --json | jq \
		-r '.devices[] | select(.id == "hlsl:0") | if .shares_cpu then .uuid else .uuid[7:39] end')
	python3 -c 'import socket, sys, time
s = socket.socket(socket.AF_UNIX)
while True:
    try:
        s.bind("\0peakd-device-" + sys.argv[1])
        break
    except OSError:
        time.sleep(0.02)
s.listen()
open("/tmp/held", "w").close()
time.sleep(1000)' "$uuid" &
	holding=$!
	until_true 30 test -e /tmp/held
	peakd tune scale --db $db --device hlsl:0 --budget 2 --json >/tmp/tuned 2>&1 &
	until_true 5 sh -c "sqlite3 $db \"SELECT message FROM job_event\" | grep 'waiting for hlsl:0: process $holding uses it'"
	waits=$?
	sqlite3 $db "SELECT message FROM job_event" | tail -5
	kill $holding
	wait $! || waits=2
	peakd jobs --db $db | head -3
	cat /tmp/tuned
	return $waits
}
check "the service waits for a device that a process outside of it uses" lock

# --- ending ---------------------------------------------------------------------------------------------------------------------
quick_stop()
{
	before=$(date +%s)
	systemctl stop peakd.service
	echo "$(($(date +%s) - before)) s, $(property Result)"
	[ $(($(date +%s) - before)) -le 6 ] && [ "$(property Result)" = success ]
}
check "systemctl stop ends the service in order" quick_stop
check "a verb of root does not start a daemon on the service's database" sh \
	-c "peakd jobs --db $db 2>&1 | grep 'systemctl start peakd'"

# --- socket activation ----------------------------------------------------------------------------------------------------------
check "the sockets start without the service" sh -c 'systemctl start peakd.socket && ! systemctl is-active peakd.service'
check "a member of the group peakd starts the service through its socket" timeout 30 setpriv --reuid member --regid member \
	--init-groups peakd jobs --db /run/peakd.sock
check "a member's agent speaks MCP through the socket" sh -c "printf '%s\n' '{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}' | timeout 30 setpriv --reuid member --regid member --init-groups peakd stdio --db /run/peakd.sock | grep -q '\"id\":1'"
check "another user may not use the socket" sh \
	-c '! timeout 10 setpriv --reuid stranger --regid stranger --init-groups peakd jobs --db /run/peakd.sock'
restarts()
{
	(
		while [ ! -e /tmp/enough ]; do
			curl -s -o /dev/null --max-time 20 http://127.0.0.1:7325/healthz || echo "curl: $?"
			echo one
		done
	) >/tmp/curls 2>&1 &
	for _ in 1 2 3; do
		systemctl restart peakd.service || return 1
	done
	touch /tmp/enough
	wait $!
	sort /tmp/curls | uniq -c
	[ "$(grep -c one /tmp/curls)" -ge 3 ] && ! grep -q curl /tmp/curls
}
check "three restarts refuse no HTTP connection" restarts
check "the socket is still there after a stop" sh \
	-c 'systemctl stop peakd.service; test -S /run/peakd.sock && systemctl is-active peakd.socket'

# --- settings, credentials, watchdog --------------------------------------------------------------------------------------------
echo 'lissten = 1' >>/etc/peakd/peakd.conf
check "a mistake in peakd.conf is told with its line" sh -c '! systemctl start peakd.service; journalctl -q -o cat -u peakd.service --no-pager | grep "peakd.conf:[0-9]*: there is no setting .lissten."'
sed -i 's/^lissten.*/read-only = yes/' /etc/peakd/peakd.conf
systemctl reset-failed peakd.service
echo secret >/etc/peakd/token
chmod 600 /etc/peakd/token
drop_in token <<'CONF'
[Service]
LoadCredential=token:/etc/peakd/token
CONF
answers()
{
	systemctl start peakd.service || return 1
	without=$(curl -s -o /dev/null -w '%{http_code}' -X POST --max-time 20 http://127.0.0.1:7325/mcp)
	with=$(curl -s -o /dev/null -w '%{http_code}' -X POST --max-time 20 -H 'Authorization: Bearer secret' \
		http://127.0.0.1:7325/mcp)
	echo "without $without, with $with"
	[ "$without" = 401 ] && [ "$with" != 401 ]
}
check "the token is a credential that only root can read" answers
check "peakd.conf has its effect" sh -c "peakd edit --help 2>/dev/null; timeout 20 peakd tune scale --db $db 2>&1 | grep -i 'read-only\|no tool\|not offered\|unknown tool'"
drop_in watchdog <<'CONF'
[Service]
WatchdogSec=4
CONF
sign() # waits for the daemon's next sign of life
{
	last=$(property WatchdogTimestampMonotonic)
	until_true 20 sh -c "[ \$(systemctl show -P WatchdogTimestampMonotonic peakd.service) != $last ]"
}
watchdog()
{
	systemctl restart peakd.service
	sign && sign && sign && [ "$(property NRestarts)" = 0 ] || return 1
	kill -STOP "$(property MainPID)"
	until_true 30 sh -c '[ "$(systemctl show -P NRestarts peakd.service)" = 1 ] && systemctl is-active -q peakd.service'
	rc=$?
	echo "restarts: $(property NRestarts), $(property Result)"
	return $rc
}
check "the watchdog restarts a daemon that hangs, and no other" watchdog
check "a worker that runs out of memory does not end the service" [ "$(property OOMPolicy)" = continue ]

# --- removal --------------------------------------------------------------------------------------------------------------------
check "the package is removed, and its service ends" sh -c 'dpkg -r peakd && ! systemctl is-active -q peakd.service peakd.socket'
check "removing keeps the settings" test -e /etc/peakd/peakd.conf
rm -rf /etc/peakd/token /etc/systemd/system/peakd.service.d
check "the package is purged" dpkg -P peakd
left()
{
	find /usr /etc /var/lib /var/cache -xdev 2>/dev/null | grep -v '/dpkg/\|/man/' | sort | diff /tmp/before - | grep '^>' |
		grep -v '/etc/\(passwd\|group\|shadow\|gshadow\|sub[ug]id\)\|/var/lib/peakd\|/var/lib/systemd/' >/tmp/left
	cat /tmp/left
	! [ -s /tmp/left ]
}
check "nothing but the databases is left" left
