#!/bin/sh
# make install and uninstall: every file where the Makefile says, and a unit that systemd accepts. The binary is a stand-in
# (this looks at the files; the real one is built and run by the other tests), so that no build happens here.
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
report $? 'make install DESTDIR=…'
prefix=$top/root/usr/local
find "$prefix" -type f >"$top/out"
test -x "$prefix/bin/peakd" && cmp -s "$top/build/peakd" "$prefix/bin/peakd"
report $? 'the binary is in bin/'
lost=
# shellcheck disable=SC2044 # no names with blanks in the tree
for file in $(find transforms examples -type f 2>/dev/null); do
	cmp -s "$file" "$prefix/share/peakd/$file" || lost="$lost $file"
done
for file in README.md docs/*.md; do
	[ ! -e "$file" ] || cmp -s "$file" "$prefix/share/doc/peakd/${file#docs/}" || lost="$lost $file"
done
[ -z "$lost" ]
report $? "transforms, examples and docs are in share/${lost:+: lost$lost}"
unit=$prefix/lib/systemd/system/peakd.service
cmp -s systemd/peakd.service "$unit"
report $? 'the unit is in lib/systemd/system/'
[ -z "$(find "$top/root" -type f -perm /022)" ] && [ -z "$(find "$prefix" -type f ! -perm -444)" ]
report $? 'everyone may read the files, nobody else may write them'

install_to uninstall "DESTDIR=$top/root" && find "$top/root" -type f >"$top/out" && [ ! -s "$top/out" ]
report $? 'make uninstall leaves no file'

install_to install "PREFIX=$top/prefix"
unit=$top/prefix/lib/systemd/system/peakd.service
grep -q "^ExecStart=$top/prefix/bin/peakd serve " "$unit"
report $? 'PREFIX reaches ExecStart'
if command -v systemd-analyze >/dev/null 2>&1; then
	# What it says of other units of this machine is not ours.
	systemd-analyze verify "$unit" >"$top/verify" 2>&1
	grep 'peakd' "$top/verify" >"$top/out"
	[ ! -s "$top/out" ]
	report $? 'systemd-analyze verify has nothing to say'
	sed 's/^Restart=.*/Restart=sometimes/' "$unit" >"$unit.d" && mv "$unit.d" "$unit"
	systemd-analyze verify "$unit" 2>&1 | grep -q 'peakd.*restart'
	report $? 'and would, of a wrong line'
else
	echo 'ok 8 # SKIP no systemd-analyze here'
	echo 'ok 9 # SKIP no systemd-analyze here'
	count=9
fi
echo "1..$count"
