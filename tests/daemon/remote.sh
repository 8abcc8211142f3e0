# remote: shared by the tests of remote machines, which source it after lib.sh: an sshd of the test's own, and what they need.

need_bundle() # need_bundle COUNT
{
	export PEAKD_BUNDLE="${BUILD:-$root/build}/bundle.tar.gz"
	[ -s "$PEAKD_BUNDLE" ] || skip_rest "$1" "no copy of peakd for other machines: make bundle"
}

# Starts Debian's sshd on a free port of loopback, with keys and a configuration of its own, as this user. The command `ssh` of this test
# then knows the host "far". $sshd is its process.
start_sshd() # start_sshd COUNT
{
	sshd=
	program=$(command -v sshd || echo /usr/sbin/sshd)
	[ -x "$program" ] && command -v ssh-keygen >/dev/null || skip_rest "$1" "no sshd here (the package openssh-server)"
	far=$T/far
	mkdir -m 700 "$far" "$T/bin" && mkdir "$far/cache"
	[ "$(id -u)" != 0 ] || mkdir -p /run/sshd
	ssh-keygen -q -t ed25519 -N '' -f "$far/host" && ssh-keygen -q -t ed25519 -N '' -f "$far/user" || return 1
	cp "$far/user.pub" "$far/authorized"
	real=$(command -v ssh)
	for _ in 1 2 3 4 5; do
		port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
		cat >"$far/sshd_config" <<-CONFIG
			ListenAddress 127.0.0.1:$port
			HostKey $far/host
			PidFile $far/pid
			AuthorizedKeysFile $far/authorized
			StrictModes no
			UsePAM no
			PasswordAuthentication no
			KbdInteractiveAuthentication no
			PermitRootLogin yes
			MaxStartups 100
			PrintMotd no
			SetEnv XDG_CACHE_HOME=$far/cache
		CONFIG
		"$program" -D -f "$far/sshd_config" -E "$far/log" &
		sshd=$!
		wait_for 10 listening "$port" && break
	done
	cat >"$far/ssh_config" <<-CONFIG
		Host far
		HostName 127.0.0.1
		Port $port
		IdentityFile $far/user
		IdentitiesOnly yes
		UserKnownHostsFile $far/known
		StrictHostKeyChecking accept-new
		LogLevel ERROR
	CONFIG
	printf '#!/bin/sh\necho x >>"%s/calls"\nexec "%s" -F "%s/ssh_config" "$@"\n' "$far" "$real" "$far" >"$T/bin/ssh"
	chmod 755 "$T/bin/ssh"
	export PATH="$T/bin:$PATH"
	"$T/bin/ssh" -o BatchMode=yes far true 2>"$T/why" || skip_rest "$1" "this user cannot log in by ssh: $(head -1 "$T/why")"
}

listening() # listening PORT
{
	python3 -c 'import socket, sys; socket.create_connection(("127.0.0.1", int(sys.argv[1])), 1)' "$1"
}

# Workers that run from the folder $cache, a line each: the process above the guard, the guard, the worker, its seccomp mode.
cat >"$T/workers.py" <<'PY'
import os, sys
def stat(pid):
    return open("/proc/%d/stat" % pid).read().rsplit(")", 1)[1].split()
for name in os.listdir("/proc"):
    if not name.isdigit():
        continue
    try:
        pid, line = int(name), open("/proc/%s/cmdline" % name).read()
        if not line.startswith(sys.argv[1]) or "--guarded" not in line:
            continue
        guard = int(stat(pid)[1])
        if "--guarded" not in open("/proc/%d/cmdline" % guard).read():
            continue
        fields, seccomp = stat(pid), [l.split()[1] for l in open("/proc/%d/status" % pid) if l.startswith("Seccomp:")][0]
        if int(fields[11]) + int(fields[12]) >= int(sys.argv[2] if len(sys.argv) > 2 else 0):
            print(stat(guard)[1], guard, pid, seccomp)
    except (OSError, IndexError, ValueError):
        pass
PY
workers() # workers [TICKS]: those that have worked for so long
{
	python3 "$T/workers.py" "$cache" "$@"
}

# Prints the process above a worker that has worked for 0.3 s, if that has this name.
busy_session() # busy_session NAME
{
	workers 30 | while read -r session _; do
		[ "$(cat "/proc/$session/comm" 2>/dev/null)" = "$1" ] && echo "$session" && break
	done | grep .
}
