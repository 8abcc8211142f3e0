#!/bin/sh
# make install and uninstall: every file is where the Makefile says, and systemd accepts the unit. The binary is a stand-in, so that
# nothing is built here; other tests build and run the real one.
set -u
cd "$(dirname "$0")/../.." || exit 1
top=$(mktemp -d "${TMPDIR:-/tmp}/install.XXXXXX") || exit 1
trap 'rm -rf "$top"' EXIT
count=0
unset MAKEFLAGS MFLAGS MAKEOVERRIDES DESTDIR PREFIX

report() # 0|1 what
{
	count=$((count + 1))
	if [ "$1" = 0 ]; then echo "ok $count - $2"; else echo "not ok $count - $2"; sed 's/^/# /' "$top/out"; fi
}

install_to() # make's arguments…
{
	make --no-print-directory -o all "BUILD=$top/build" "$@" >"$top/out" 2>&1
}

mkdir "$top/build"
printf '#!/bin/sh\nexit 0\n' >"$top/build/peakd"
install_to install "DESTDIR=$top/root"
report $? 'make install with DESTDIR succeeds'
prefix=$top/root/usr/local
find "$prefix" -type f >"$top/out"
test -x "$prefix/bin/peakd" && cmp -s "$top/build/peakd" "$prefix/bin/peakd"
report $? 'make install puts the binary into bin/'
lost=
# shellcheck disable=SC2044 # no names with blanks in the tree
for file in $(find transforms examples -type f 2>/dev/null); do
	cmp -s "$file" "$prefix/share/peakd/$file" || lost="$lost $file"
done
for file in README.md docs/*.md; do
	[ ! -e "$file" ] || cmp -s "$file" "$prefix/share/doc/peakd/${file#docs/}" || lost="$lost $file"
done
[ -z "$lost" ]
report $? "make install puts transforms, examples and docs into share/${lost:+: lost$lost}"
unit=$prefix/lib/systemd/system/peakd.service
cmp -s systemd/peakd.service "$unit"
report $? 'make install puts the unit into lib/systemd/system/'
[ -z "$(find "$top/root" -type f -perm /022)" ] && [ -z "$(find "$prefix" -type f ! -perm -444)" ]
report $? 'installed files are readable for everyone and writable for their owner only'

install_to uninstall "DESTDIR=$top/root" && find "$top/root" -type f >"$top/out" && [ ! -s "$top/out" ]
report $? 'make uninstall leaves no file'

install_to install "PREFIX=$top/prefix"
unit=$top/prefix/lib/systemd/system/peakd.service
grep -q "^ExecStart=$top/prefix/bin/peakd serve " "$unit"
report $? 'PREFIX is the path in ExecStart'
if command -v systemd-analyze >/dev/null 2>&1; then
	# Messages about other units of this machine do not count.
	systemd-analyze verify "$unit" >"$top/verify" 2>&1
	grep 'peakd' "$top/verify" >"$top/out"
	[ ! -s "$top/out" ]
	report $? 'systemd-analyze verify accepts the installed unit'
	sed 's/^Restart=.*/Restart=sometimes/' "$unit" >"$unit.d" && mv "$unit.d" "$unit"
	systemd-analyze verify "$unit" 2>&1 | grep -q 'peakd.*restart'
	report $? 'systemd-analyze verify refuses a unit with a wrong line'
else
	echo 'ok 8 # SKIP no systemd-analyze here'
	echo 'ok 9 # SKIP no systemd-analyze here'
	count=9
fi
echo "1..$count"
