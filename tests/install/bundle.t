#!/bin/sh
# build/bundle is moved and started with an almost empty environment. Every library except the C library comes from the folder, and
# a kernel is validated and tuned with it.
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
is "$(grep -c 'not found' "$T/ldd")" 0 "the bundle lacks no library"
is "$(sed -n 's/.* => \(\/[^ ]*\) .*/\1/p' "$T/ldd" | grep -v "^$T/moved/" | sed 's,.*/,,' | grep -Ev '^lib(c|m|dl|pthread|rt|resolv)\.so')" "" \
	"every library except the C library is found in the moved folder"
is "$(find "$T/moved" -name 'libcuda*' -o -name 'libnvrtc*' -o -name 'libc.so*' -o -name 'ld-linux*' | head -1)" "" \
	"the bundle holds neither the vendor's libraries nor the C library"
bare() # bare WORDS: with an almost empty environment, from another folder
{
	(cd / && env -i PATH=/usr/bin:/bin HOME="$T" TMPDIR="$T" XDG_RUNTIME_DIR="$T/run" \
		PEAKD_LOCK_SPACE="$PEAKD_LOCK_SPACE" timeout 250 "$T/moved/peakd" "$@")
}
has "$(bare version)" "peakd" "the moved bundle starts"
ln -s "$T/moved/peakd" "$T/link"
has "$("$T/link" version)" "peakd" "the moved bundle starts through a symbolic link"
has "$(bare devices --db "$T/a.db")" "hlsl" "the moved bundle's workers start"
if bare devices --db "$T/a.db" | grep -q hlsl:0; then
	small_context >"$T/scale.peak.md"
	bare run "$T/scale.peak.md" --device hlsl:0 --budget 2 --samples 2 --db "$T/b.db" >"$T/out" 2>&1
	is $? 0 "the moved bundle validates and tunes a kernel" "$(cat "$T/out")"
else
	skip 1 "no device runs HLSL here"
fi
sed 's/^needed=.*/needed=9.99/' "$T/moved/peakd" >"$T/moved/old" && chmod +x "$T/moved/old"
"$T/moved/old" version 2>"$T/err"
is $? 1 "the bundle refuses a C library that is too old"
has "$(cat "$T/err")" "needs glibc 9.99" "the refusal names the glibc that the bundle needs"
done_testing
