#!/bin/sh
# build/bundle, moved away and started with nothing of the build machine's environment: every library that is not the C library's comes
# from the folder, and a kernel is validated and tuned with it.
. "$(dirname "$0")/../daemon/lib.sh"
unset PEAKD_SHARE
made=${BUILD:-$root/build}/bundle
if [ ! -x "$made/peakd" ]; then
	skip 1 "no bundle: make bundle"
	done_testing
	exit 0
fi
cp -r "$made" "$T/moved"
ldd "$T/moved/bin/peakd" >"$T/ldd"
is "$(grep -c 'not found' "$T/ldd")" 0 "nothing is missing"
is "$(sed -n 's/.* => \(\/[^ ]*\) .*/\1/p' "$T/ldd" | grep -v "^$T/moved/" | sed 's,.*/,,' | grep -Ev '^lib(c|m|dl|pthread|rt|resolv)\.so')" "" \
	"all but the C library is found in the folder, wherever it lies"
is "$(find "$T/moved" -name 'libcuda*' -o -name 'libnvrtc*' -o -name 'libc.so*' -o -name 'ld-linux*' | head -1)" "" \
	"and nothing of the GPU's vendor or of the C library"
bare() # bare WORDS: with an almost empty environment, from another folder
{
	(cd / && env -i PATH=/usr/bin:/bin HOME="$T" TMPDIR="$T" XDG_RUNTIME_DIR="$T/run" timeout 120 "$T/moved/peakd" "$@")
}
has "$(bare version)" "peakd" "it starts"
ln -s "$T/moved/peakd" "$T/link"
has "$("$T/link" version)" "peakd" "also through a link"
has "$(bare devices --db "$T/a.db")" "hlsl" "its workers start"
if bare devices --db "$T/a.db" | grep -q hlsl:0; then
	small_context >"$T/scale.peak.md"
	bare run "$T/scale.peak.md" --device hlsl:0 --budget 2 --db "$T/b.db" >"$T/out" 2>&1
	is $? 0 "a kernel is validated and tuned" "$(cat "$T/out")"
else
	skip 1 "no device runs HLSL here"
fi
sed 's/^needed=.*/needed=9.99/' "$T/moved/peakd" >"$T/moved/old" && chmod +x "$T/moved/old"
"$T/moved/old" version 2>"$T/err"
is $? 1 "a machine whose C library is too old is told so"
has "$(cat "$T/err")" "needs glibc 9.99" "with what it needs"
done_testing
