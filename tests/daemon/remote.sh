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
