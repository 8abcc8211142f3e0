#!/bin/sh
# make install and uninstall: every file is where the Makefile says, systemd accepts the units, and the man pages and completions
# that are written from peakd's help are right. The binary is a stand-in that starts the real one, so that nothing is built here.
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
	make --no-print-directory -o all -o bundle -o "$top/build/peakd" "BUILD=$top/build" "$@" >"$top/out" 2>&1
}

mkdir "$top/build"
printf '#!/bin/sh\nexec "%s" "$@"\n' "${PEAKD:-$PWD/build/peakd}" >"$top/build/peakd"
chmod +x "$top/build/peakd"
echo bundle >"$top/build/bundle.tar.gz"
install_to install "DESTDIR=$top/root"
report $? 'make install with DESTDIR succeeds'
prefix=$top/root/usr/local
find "$prefix" -type f >"$top/out"
test -x "$prefix/bin/peakd" && cmp -s "$top/build/peakd" "$prefix/bin/peakd"
report $? 'make install puts the binary into bin/'
cmp -s "$top/build/bundle.tar.gz" "$prefix/lib/peakd/bundle.tar.gz"
report $? 'and the copy for other machines where peakd looks for it'
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
cmp -s systemd/peakd.socket "${unit%service}socket" && cmp -s systemd/peakd.sysusers "$prefix/lib/sysusers.d/peakd.conf" &&
	cmp -s systemd/peakd.conf "$top/root/etc/peakd/peakd.conf" && cmp -s systemd/gpu.conf "$prefix/share/doc/peakd/gpu.conf"
report $? 'make install puts socket, user, settings and drop-ins where they belong'
[ -z "$(find "$top/root" -type f -perm /022)" ] && [ -z "$(find "$prefix" -type f ! -perm -444)" ]
report $? 'installed files are readable for everyone and writable for their owner only'

verbs=$("$top/build/peakd" help | sed -n 's/^  \([a-z-]*\) .*/\1/p' | grep -v '^\(worker\|version\|help\)$')
man=$prefix/share/man/man1/peakd.1
sed 's/\\-/-/g; s/\\f[BRI]//g' "$man" >"$top/peakd.1"
sed 's/\\-/-/g; s/\\f[BRI]//g' "$prefix/share/man/man5/peakd.conf.5" >"$top/peakd.conf.5"
for verb in $verbs; do
	grep -q "^.SS peakd $verb\>" "$top/peakd.1" || echo "peakd.1 lacks $verb"
	"$top/build/peakd" help "$verb" | sed -n 's/^  --\([a-z0-9-]*\) .*/\1/p' >"$top/options"
	sed -n "/^	$verb)/,/;;/p" "$prefix/share/zsh/site-functions/_peakd" | grep -o -e '--[a-z0-9-]*' | sort -u >"$top/zsh"
	grep -o -- "from $verb' -l [a-z0-9-]* " "$prefix/share/fish/vendor_completions.d/peakd.fish" | sed 's/.* -l /--/; s/ $//' |
		sort -u >"$top/fish"
	sed -n "/^	$verb)/,/;;/p" "$prefix/share/bash-completion/completions/peakd" | grep -o -e '--[a-z0-9-]*' |
		sort -u >"$top/bash"
	sed -n "/^.SS peakd $verb /,/^.S[SH]/p; /^.SH OPTIONS OF EVERY VERB/,/^.SH VERBS/p" "$top/peakd.1" |
		grep -o -e '^--[a-z0-9-]*' | sort -u >"$top/man"
	for shell in zsh fish bash man; do
		sed 's/^/--/' "$top/options" | sort -u | comm -23 - "$top/$shell" | sed "s/^/$shell lacks $verb /"
	done
done >"$top/out"
[ ! -s "$top/out" ] && [ "$(echo "$verbs" | wc -l)" -gt 20 ]
report $? 'every verb and option is in the man page and in the completions'
for option in $("$top/build/peakd" help serve | sed -n 's/^  --\([a-z-]*\) .*/\1/p; s/^  \(PEAKD_[A-Z_]*\)=.*/\1/p' |
	grep -v '^\(config\|help\)$'); do
	grep -q "^$option = " "$top/peakd.conf.5" || echo "peakd.conf.5 lacks $option"
done >"$top/out"
[ ! -s "$top/out" ]
report $? 'every setting is in peakd.conf(5)'
if command -v man >/dev/null 2>&1; then
	LC_ALL=C.UTF-8 MANROFFSEQ='' MANWIDTH=80 man --warnings -l "$man" 2>"$top/out" >"$top/text"
	LC_ALL=C.UTF-8 MANROFFSEQ='' MANWIDTH=80 man --warnings -l "$prefix/share/man/man5/peakd.conf.5" 2>>"$top/out" >>"$top/text"
	grep -v "can't break line" "$top/out" >"$top/warnings"
	[ ! -s "$top/warnings" ] && grep -q 'peakd.conf - settings' "$top/text"
	report $? 'man formats both pages without a warning'
else
	report 0 'man formats both pages # SKIP no man here'
fi
completed() # completed WORDS…: what bash offers for the last word
{
	bash -c '. "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); _peakd; printf "%s\n" "${COMPREPLY[@]}"' \
		bash \
		"$prefix/share/bash-completion/completions/peakd" "$@" 2>&1
}
{
	completed peakd ba | grep -qx backup || echo "peakd ba"
	completed peakd serve --re | grep -qx -- --read-only || echo "peakd serve --re"
	completed peakd jobs w | grep -qx wait || echo "peakd jobs w"
	completed peakd serve --config sys | grep -qx systemd || echo "peakd serve --config sys"
	[ -z "$(completed peakd serve --listen 12)" ] || echo "peakd serve --listen 12"
} >"$top/out"
[ ! -s "$top/out" ]
report $? 'bash completes verbs, options, actions and files'
if command -v zsh >/dev/null 2>&1; then
	zsh -n "$prefix/share/zsh/site-functions/_peakd" >"$top/out" 2>&1
	report $? 'zsh accepts its completion'
else
	report 0 'zsh accepts its completion # SKIP no zsh here'
fi
if command -v fish >/dev/null 2>&1; then
	HOME=$top fish -c ". $prefix/share/fish/vendor_completions.d/peakd.fish; complete -C 'peakd serve --re'" >"$top/out" 2>&1
	grep -q '^--read-only' "$top/out"
	report $? 'fish completes options'
else
	report 0 'fish completes options # SKIP no fish here'
fi

echo '# mine' >>"$top/root/etc/peakd/peakd.conf"
install_to install "DESTDIR=$top/root" && grep -qx '# mine' "$top/root/etc/peakd/peakd.conf"
report $? 'make install keeps settings that somebody changed'
install_to uninstall "DESTDIR=$top/root" && grep -qx '# mine' "$top/root/etc/peakd/peakd.conf" &&
	cp systemd/peakd.conf "$top/root/etc/peakd/peakd.conf"
report $? 'make uninstall keeps settings that somebody changed'
install_to uninstall "DESTDIR=$top/root" && find "$top/root" -type f >"$top/out" && [ ! -s "$top/out" ]
report $? 'make uninstall leaves no file'

install_to install "PREFIX=$top/prefix"
unit=$top/prefix/lib/systemd/system/peakd.service
grep -q "^ExecStart=$top/prefix/bin/peakd serve " "$unit"
report $? 'PREFIX is the path in ExecStart'
if command -v systemd-analyze >/dev/null 2>&1; then
	# Messages about other units of this machine do not count.
	systemd-analyze verify "$unit" "${unit%service}socket" 2>&1 | grep -v "user 'peakd'\|man" >"$top/verify"
	grep 'peakd' "$top/verify" >"$top/out"
	[ ! -s "$top/out" ]
	report $? 'systemd-analyze verify accepts the installed unit'
	sed 's/^Restart=.*/Restart=sometimes/' "$unit" >"$unit.d" && mv "$unit.d" "$unit"
	systemd-analyze verify "$unit" 2>&1 | grep -q 'peakd.*restart'
	report $? 'systemd-analyze verify refuses a unit with a wrong line'
else
	report 0 'systemd-analyze verify # SKIP no systemd-analyze here'
	report 0 'systemd-analyze verify # SKIP no systemd-analyze here'
fi
echo "1..$count"
