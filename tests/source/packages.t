#!/bin/sh
# packages.sh on machines that have all packages, lack some, or cannot install any. Stand-ins in PATH play the tools.
set -u
script=$(dirname "$0")/packages.sh
top=$(mktemp -d "${TMPDIR:-/tmp}/packages.XXXXXX") || exit 1
trap 'rm -rf "$top"' EXIT
bin=$top/bin
count=0

report() # 0|1 what
{
	count=$((count + 1))
	if [ "$1" = 0 ]; then echo "ok $count - $2"; else echo "not ok $count - $2"; sed 's/^/# /' "$top/out"; fi
}

tool() # name, body
{
	printf '#!/bin/sh\n%s\n' "$2" >"$bin/$1"
	chmod +x "$bin/$1"
}

# A Debian machine where root works and everything but the named packages is installed.
machine()
{
	rm -rf "$bin"
	mkdir "$bin"
	for name in sed grep tail tr env sh; do ln -s "$(command -v $name)" "$bin/$name"; done
	tool id 'echo 0'
	tool node 'echo v20'
	tool dpkg-query "shift 3; for p; do case ' $* ' in *\" \$p \"*) continue ;; esac; echo \"\$p installed\"; done"
	tool apt-get "echo \"\$*\" >>'$top/apt'"
	rm -f "$top/apt"
}

run()
{
	(unset SUDO_COMMAND; PATH=$bin exec "$bin/sh" "$script" "$@" </dev/null >"$top/out" 2>&1)
}

machine none
tool npm 'echo 10'
run install "$top/log" build run tests && [ ! -s "$top/out" ] && [ ! -e "$top/apt" ]
report $? 'without missing packages nothing is printed or installed'

machine jq
tool npm 'echo 10'
run install "$top/log" build run tests && [ "$(grep -c . "$top/out")" = 1 ] &&
	grep -q 'installing 1 Debian packages.*: jq$' "$top/out"
report $? 'packages to install are announced in one line'
grep -q 'apt-get' "$top/out" && grep -q 'install jq$' "$top/apt" && grep -q 'update' "$top/apt"
report $? 'only the missing package is installed, after apt-get update'
run install "$top/log" build run && [ ! -s "$top/out" ]
report $? 'a package of another group is not installed'

machine npm nodejs
run install "$top/log" tests && grep -q ': npm$' "$top/out"
report $? "an installed Node.js is kept, and a missing npm is installed"

machine jq
rm "$bin/apt-get"
if run install "$top/log" tests; then report 1 'without apt-get packages.sh fails'; else
	grep -q 'not Debian' "$top/out" && grep -q 'sudo apt-get install .*libjansson-dev.* jq' "$top/out"
	report $? 'without apt-get packages.sh prints the whole list as a command'
fi

machine jq npm
tool id 'echo 1000'
if run install "$top/log" tests; then report 1 'without root or sudo packages.sh fails'; else
	grep -q 'neither root nor sudo' "$top/out" && [ ! -e "$top/apt" ]
	report $? 'without root or sudo packages.sh installs nothing'
fi
# shellcheck disable=SC2016 # the stand-in expands the text
tool sudo '[ "$1" != -n ] || shift; exec "$@"'
tool true ''
run install "$top/log" tests && grep -q 'install jq npm$' "$top/apt"
report $? 'sudo without a password is used'

machine jq
tool apt-get 'echo "E: Unable to locate package jq"; exit 100'
if run install "$top/log" tests; then report 1 'packages.sh fails when apt-get fails'; else
	grep -q 'Unable to locate' "$top/out" && grep -q 'sudo apt-get install' "$top/out"
	report $? "a failed apt-get is reported with its message and the list"
fi

sh "$script" list build | grep -qx libsqlite3-dev
report $? 'packages.sh list prints the packages of a group'
echo "1..$count"
