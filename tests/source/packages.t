#!/bin/sh
# packages.sh: what it does on machines that have all, lack some, or cannot install, played by false tools in PATH.
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
report $? 'nothing is said or done where nothing is missing'

machine jq
tool npm 'echo 10'
run install "$top/log" build run tests && [ "$(grep -c . "$top/out")" = 1 ] && grep -q 'installing 1 Debian packages.*: jq$' "$top/out"
report $? 'what is about to be installed is said in one line'
grep -q 'apt-get' "$top/out" && grep -q 'install jq$' "$top/apt" && grep -q 'update' "$top/apt"
report $? 'and only that is installed, with fresh lists'
run install "$top/log" build run && [ ! -s "$top/out" ]
report $? 'a group that does not need it does not bring it'

machine npm nodejs
run install "$top/log" tests && grep -q ': npm$' "$top/out"
report $? "the machine's own Node stays, npm is added where the command is missing"

machine jq
rm "$bin/apt-get"
if run install "$top/log" tests; then report 1 'no apt-get: stops'; else
	grep -q 'not Debian' "$top/out" && grep -q 'sudo apt-get install .*libjansson-dev.* jq' "$top/out"
	report $? 'no apt-get: stops and prints the whole list as a command'
fi

machine jq npm
tool id 'echo 1000'
if run install "$top/log" tests; then report 1 'no root: stops'; else
	grep -q 'neither root nor sudo' "$top/out" && [ ! -e "$top/apt" ]
	report $? 'neither root nor sudo: stops before anything is done'
fi
# shellcheck disable=SC2016 # the words are for the tool
tool sudo '[ "$1" != -n ] || shift; exec "$@"'
tool true ''
run install "$top/log" tests && grep -q 'install jq npm$' "$top/apt"
report $? 'sudo that asks nothing is used'

machine jq
tool apt-get 'echo "E: Unable to locate package jq"; exit 100'
if run install "$top/log" tests; then report 1 'a failing apt-get: stops'; else
	grep -q 'Unable to locate' "$top/out" && grep -q 'sudo apt-get install' "$top/out"
	report $? "a failing apt-get: stops with its words and the list"
fi

sh "$script" list build | grep -qx libsqlite3-dev
report $? 'list prints a group'
echo "1..$count"
