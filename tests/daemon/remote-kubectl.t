#!/bin/sh
# A device in a pod: the command line that kubectl gets, with a stand-in that runs the command here. No cluster is involved.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/remote.sh"
tests=5
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
exec env -i PATH=/usr/bin:/bin XDG_CACHE_HOME="$T/pod" "\$@"
KUBECTL
chmod 755 "$T/bin/kubectl"
export PATH="$T/bin:$PATH" PEAKD_REMOTE="pod=kubectl:gpu-0,namespace=lab,container=main"
cache=$T/pod
"$peakd" devices --db "$db" --json >"$T/devices" 2>&1
jq -e '.devices[] | select(.id == "pod/hlsl:0")' "$T/devices" >/dev/null || skip_rest $tests "no device runs HLSL here: $(jq -r ".notes[-1]" "$T/devices")"
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
has "$(jq -r '.notes[]' "$T/devices")" "peakd could not be unpacked in $T/pod/peakd" "a damaged copy of peakd is refused" "$(cat "$T/devices")"
is "$(ls "$T/pod/peakd")" "" "a damaged copy leaves nothing behind"
done_testing
