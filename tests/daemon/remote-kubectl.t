#!/bin/sh
# A device in a pod: the command line that kubectl gets, with a stand-in that runs the command here. No cluster is involved. Machines
# whose clocks are wrong or whose CPUs differ are faked by a worker that says so.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/remote.sh"
tests=12
db=$T/a.db
need_bundle $tests
mkdir "$T/bin" "$T/pod"
cat >"$T/bin/kubectl" <<KUBECTL
#!/bin/sh
# Everything in front of -- is kubectl's; the rest runs in the pod, without this environment.
words=
while [ "\$1" != -- ]; do words="\$words \$1"; shift; done
shift
echo "\$words" >>"$T/calls"
exec env -i PATH=/usr/bin:/bin XDG_CACHE_HOME="$T/pod" PEAKD_BENCH_FAKE="\$(cat "$T/fake\${words##* }" 2>/dev/null)" "\$@"
KUBECTL
chmod 755 "$T/bin/kubectl"
export PATH="$T/bin:$PATH" PEAKD_REMOTE="pod=kubectl:gpu-0,namespace=lab,container=main"
cache=$T/pod
"$peakd" devices --db "$db" --json >"$T/devices" 2>&1
jq -e '.devices[] | select(.id == "pod/hlsl:0")' "$T/devices" >/dev/null ||
	skip_rest $tests "no device runs HLSL here: $(jq -r ".notes[-1]" "$T/devices")"
is "$(sort -u "$T/calls")" " exec --stdin --namespace=lab --container=main gpu-0" "kubectl executes in the pod that was named"
is "$(ls "$T/pod/peakd")" "$(sha256sum "$PEAKD_BUNDLE" | cut -c1-64)" "peakd travels into the pod"
small_context >"$T/scale.peak.md"
"$peakd" workflow create "$T/scale.peak.md" scale --db "$db" >"$T/out" 2>&1
"$peakd" validate scale --device pod/hlsl:0 --db "$db" >"$T/out" 2>&1
is $? 0 "a kernel is validated in the pod" "$(cat "$T/out" "$db.log")"
# A copy that arrives damaged is not used: another hash is expected than that of what comes.
cat >"$T/bin/head" <<'HEAD'
#!/bin/sh
/usr/bin/head "$@" | sed '1s/^./x/'
HEAD
chmod 755 "$T/bin/head"
sed -i "s|PATH=/usr/bin:/bin|PATH=$T/bin:/usr/bin:/bin|" "$T/bin/kubectl"
rm -r "$T/pod/peakd"
"$peakd" devices --refresh --db "$db" --json >"$T/devices" 2>&1
has "$(jq -r '.notes[]' "$T/devices")" "peakd could not be unpacked in $T/pod/peakd" "a damaged copy of peakd is refused" \
	"$(cat "$T/devices")"
is "$(ls "$T/pod/peakd")" "" "a damaged copy leaves nothing behind"

# --- other clocks, other CPUs --------------------------------------------------------------------------------------------------
bench=${BUILD:-$root/build}/bench/tune
[ -x "$bench" ] || skip_rest 7 "no bench/tune: make bench"
rm "$T/bin/head"
mkdir "$T/fake"
cp "$bench" "$T/fake/peakd"
tar -C "$T/fake" -czf "$T/fake.tar.gz" peakd
echo 0 0 1 37 Xeon >"$T/fakewrong"
echo 0 0 1 -1 Xeon >"$T/fakegood"
echo 0 0 1 0 EPYC >"$T/fakeother"
db=$T/b.db
export PEAKD_BUNDLE="$T/fake.tar.gz" PEAKD_REMOTE="wrong=kubectl:wrong good=kubectl:good other=kubectl:other"
"$peakd" devices --db "$db" --json >"$T/devices" 2>&1
is "$(jq -r '.notes[] | select(startswith("clock: "))' "$T/devices")" "clock: of wrong: the clock of the other machine is 37 s ahead of this one's" "a machine whose clock is wrong by more than two seconds is named"
is "$(jq -r '.devices[] | select(.id == "other/hlsl:0") | [.host, (.uuid | sub(".*@"; ""))] | join("; ")' "$T/devices")" "fake, EPYC; fake, EPYC" "a software device of another machine is known by its CPU"
# The fake worker writes 64 numbers.
sed 's/4096/64/; s/f32/i32/; s/float/int/; s/2\.0/2/' "$T/scale.peak.md" >"$T/fake.peak.md"
"$peakd" workflow create "$T/fake.peak.md" fake --db "$db" >"$T/out" 2>&1
{ "$peakd" tune fake --device wrong/hlsl:0 --db "$db" && "$peakd" tune fake --device good/hlsl:0 --db "$db"; } >"$T/out" 2>&1
is $? 0 "fake devices are tuned" "$(cat "$T/out" "$db.log")"
is "$(sqlite3 "$db" "SELECT DISTINCT instr(conditions, 'the clock of the other machine is 37 s ahead of this one''s') FROM measurement_condition ORDER BY measurement_id" | tr '\n' ' ')" "1 0 " "a quoted time says that its machine's clock is wrong"
has "$(cat "$db.log")" "wrong/hlsl:0: the clock of the other machine is 37 s ahead" "the log says so too"
"$peakd" tune fake --device good/hlsl:0+other/hlsl:0 --db "$db" >"$T/out" 2>&1
has "$(cat "$T/out")" "other/hlsl:0 a fake on fake, EPYC: only devices of one kind share a tune" "different CPUs do not share a tune"
echo 0 0 1 0 EPYC >"$T/fakegood"
for pid in $(workers | cut -d' ' -f3); do kill "$pid"; done
"$peakd" tune fake --device good/hlsl:0 --db "$db" >"$T/out" 2>&1
has "$(cat "$T/out")" "on fake, Xeon, and is now fake (fake 1) on fake, EPYC" "a CPU that changes ends the work" "$(cat "$T/out")"
done_testing
