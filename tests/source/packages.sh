#!/bin/sh
# The Debian 12 packages that peakd needs, in one place, and the step that installs what is missing. The Makefile calls it.
#   packages.sh list [GROUP…]           prints the packages (groups: build run tests; all of these when none is named)
#   packages.sh install LOG GROUP…      installs and announces the missing packages; apt-get's output goes to LOG
# An entry COMMAND=PACKAGE is needed only if the command is missing (a machine may have its own Node.js).
# shellcheck disable=SC2086,SC2068,SC2046 # the lists are split into words on purpose
set -eu

build='gcc g++ make pkg-config libmicrohttpd-dev libjansson-dev libcurl4-openssl-dev libsqlite3-dev liblua5.4-dev
	nettle-dev libseccomp-dev libsystemd-dev zlib1g-dev glslang-dev spirv-tools libvulkan-dev'
run='libvulkan1 mesa-vulkan-drivers ca-certificates'
tests='perl python3 sqlite3 curl jq openssl procps clang clang-format clang-tidy libclang-rt-14-dev node=nodejs npm=npm'

# Optional, installed only when it is named: AMD's compiler and runtime, and a newer clang that knows newer architectures; tests of
# the HIP backend that need them are skipped without.
hip='libamdhip64-5 libamd-comgr2 clang-19 lld-19'

# Optional: what the oracle of imported problems runs (docs/import.md); its tests are skipped without.
torch='python3-torch'

# Optional: the browser in which tests/daemon/page.t drives the page; it is skipped without.
browser='chromium=chromium'

# Optional: what make deb needs, and what tests the package in a booted system (tests/install/service.t), which is skipped without.
deb='debhelper lintian systemd-container mmdebstrap'

# Optional: the load generator of make bench-mcp.
bench='wrk=wrk'

# Optional: what the tests of other machines run on loopback, as processes of their own (docs/remote.md); they are skipped without.
remote='sshd=openssh-server ssh=openssh-client slurmctld=slurmctld slurmd=slurmd srun=slurm-client munged=munge'

entries()
{
	for group in ${@:-build run tests}; do
		case $group in
		build) echo $build ;;
		run) echo $run ;;
		tests) echo $tests ;;
		hip) echo $hip ;;
		torch) echo $torch ;;
		deb) echo $deb ;;
		bench) echo $bench ;;
		browser) echo $browser ;;
		remote) echo $remote ;;
		*) echo "packages.sh: no group '$group'; groups are build, run, tests, hip, torch, deb, bench, browser and remote" >&2; exit 2 ;;
		esac
	done
}

# Prints the missing packages among the entries, one per line.
missing()
{
	plain=
	for entry in "$@"; do
		case $entry in
		*=*) command -v "${entry%%=*}" >/dev/null 2>&1 || plain="$plain ${entry#*=}" ;;
		*) plain="$plain $entry" ;;
		esac
	done
	[ -n "$plain" ] || return 0
	have=$(dpkg-query -W -f '${Package} ${db:Status-Status}\n' $plain 2>/dev/null | sed -n 's/ installed$//p')
	for package in $plain; do
		echo "$have" | grep -qxF "$package" || echo "$package"
	done
}

# Fails because the packages cannot be installed: prints the reason and the command to type.
give_up()
{
	echo "peakd: cannot install packages here: $1. On Debian 12 this installs all that is needed:" >&2
	echo "    sudo apt-get install -y --no-install-recommends" $(entries build run tests | tr ' ' '\n' | sed 's/.*=//') >&2
	echo "peakd: where everything is there under other names, go on with: make DEPS=no …" >&2
	exit 1
}

# Prints the prefix that runs a command as root (nothing for root itself); fails if there is none.
root_prefix()
{
	if [ "$(id -u)" = 0 ]; then
		:
	elif command -v sudo >/dev/null 2>&1 && { sudo -n true 2>/dev/null || [ -t 0 ]; }; then
		echo sudo
	else
		return 1
	fi
}

install()
{
	log=$1
	shift
	if ! command -v dpkg-query >/dev/null 2>&1 || ! command -v apt-get >/dev/null 2>&1; then
		give_up "this is not Debian (no dpkg-query or apt-get)"
	fi
	wanted=$(missing $(entries "$@"))
	[ -n "$wanted" ] || return 0
	set -- $wanted
	prefix=$(root_prefix) || give_up "neither root nor sudo (missing: $*)"
	echo "peakd: installing $# Debian packages with apt-get (log in $log): $*"
	# A fresh machine has no package lists; a failed update shows in the install.
	{ $prefix apt-get -q update || true
	  $prefix env DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-install-recommends install "$@"
	} >"$log" 2>&1 </dev/null || {
		grep -E '^(E|W|Err):' "$log" | tail -n 5 >&2
		give_up "apt-get failed, see $log (missing: $*)"
	}
}

case ${1:-} in
list) shift; entries "$@" | tr ' ' '\n' | sed 's/.*=//' ;;
install) shift; install "$@" ;;
*) echo "usage: packages.sh list [GROUP…] | packages.sh install LOG GROUP…" >&2; exit 2 ;;
esac
