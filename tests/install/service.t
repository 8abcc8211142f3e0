#!/bin/sh
# The package (make deb) in a booted system: systemd starts from this machine's files with a layer of memory above them, so that
# nothing here changes. There the package is installed, the service works as its unit says, and the package is removed.
# service-inside.sh holds the checks; this file boots.
. "$(dirname "$0")/../daemon/lib.sh"
deb=$(ls "${BUILD:-$root/build}"/peakd_*.deb 2>/dev/null | head -1)
total=$(grep -c '^	*check ' "$root/tests/install/service-inside.sh")
[ -n "$deb" ] || skip_rest "$total" "no package: make deb"
[ "$(id -u)" = 0 ] || skip_rest "$total" "only root can boot a system"
command -v systemd-nspawn >/dev/null || skip_rest "$total" "no systemd-nspawn (Debian package systemd-container)"
leave()
{
	umount "$T/layer/root" 2>/dev/null
	umount "$T/layer" 2>/dev/null
	finish
}
trap leave EXIT
mkdir "$T/layer" "$T/shared"
mount -t tmpfs -o size=800m,mode=755 tmpfs "$T/layer" 2>/dev/null && mkdir "$T/layer/up" "$T/layer/work" "$T/layer/root" &&
	mount -t overlay -o "lowerdir=/,upperdir=$T/layer/up,workdir=$T/layer/work" overlay "$T/layer/root" 2>/dev/null ||
	skip_rest "$total" "no overlay file system here"
system=$T/layer/root
cp "$deb" "$T/shared/peakd.deb"
cp "$root/tests/install/service-inside.sh" "$T/shared/inside.sh"
small_context >"$T/shared/scale.peak.md"
# Only what the service needs starts: no unit that this machine has enabled.
rm -rf "$system"/etc/systemd/system/*.wants "$system"/etc/systemd/system/*.requires "$system/etc/peakd" \
	"$system/usr/sbin/policy-rc.d" "$system/var/lib/man-db/auto-update"
echo uninitialized >"$system/etc/machine-id"
cat >"$system/etc/systemd/system/peakd-test.service" <<'UNIT'
[Unit]
Requires=basic.target
After=basic.target
SuccessAction=exit-force
FailureAction=exit-force
[Service]
Type=oneshot
ExecStart=/bin/sh /shared/inside.sh
StandardOutput=truncate:/shared/out
StandardError=truncate:/shared/err
TimeoutStartSec=250
UNIT
SYSTEMD_NSPAWN_UNIFIED_HIERARCHY=1 timeout -k 5 280 systemd-nspawn -q -D "$system" --boot --register=no \
	--keep-unit --private-network \
	--system-call-filter='landlock_create_ruleset landlock_add_rule landlock_restrict_self' --bind="$T/shared:/shared" \
	-M "peakd-test-$$" --console=pipe systemd.unit=peakd-test.service >"$T/boot" 2>&1 </dev/null
if ! [ -e "$T/shared/out" ]; then
	grep -q 'not permitted\|cgroup\|Failed to' "$T/boot" &&
		skip_rest "$total" "no system boots here: $(tail -1 "$T/boot" | tr -d '\r')"
fi
while IFS= read -r line; do
	case $line in
	"ok "*) ok 0 "${line#ok }" ;;
	"not ok "*) ok 1 "${line#not ok }" ;;
	*) echo "# $line" ;;
	esac
done <"$T/shared/out"
[ "$count" = "$total" ] || ok 1 "all $total checks ran" "$(tail -20 "$T/shared/err")" "$(tail -5 "$T/boot")"
done_testing
