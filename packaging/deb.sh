#!/bin/sh
# Makes a Debian package of a build, with debhelper's own steps, and has lintian check it. `make deb` calls it:
#   deb.sh BUILD VERSION        writes BUILD/peakd_VERSION_ARCH.deb
set -eu
build=$(cd "$1" && pwd)
version=$2
root=$(cd "$(dirname "$0")/.." && pwd)
work=$build/deb
rm -rf "$work"
mkdir -p "$work"
cp -r "$root/packaging/debian" "$work/debian"
cp "$root/systemd/peakd.sysusers" "$work/debian/peakd.sysusers"
date=$(git -C "$root" log -1 --format=%cD 2>/dev/null || date -R)
printf 'peakd (%s) unstable; urgency=medium\n\n  * Built from its own sources.\n\n -- peakd <peakd@users.noreply.github.com>  %s\n' \
	"$version" "$date" >"$work/debian/changelog"
SOURCE_DATE_EPOCH=$(date -d "$date" +%s)
export SOURCE_DATE_EPOCH
make --no-print-directory -s -C "$root" -o all -o bundle BUILD="$build" PREFIX=/usr ZSHDIR=/usr/share/zsh/vendor-completions \
	DESTDIR="$work/debian/peakd" install >"$work/log"
cd "$work"
rm debian/peakd/usr/lib/sysusers.d/peakd.conf # debhelper installs it, and has it applied
dh_installdocs &&
	dh_installchangelogs &&
	dh_installman &&
	dh_installsysusers &&
	dh_installsystemd --no-enable --no-start --no-stop-on-upgrade &&
	dh_compress -X.md -Xshare/doc/peakd/gpu.conf &&
	dh_fixperms &&
	dh_strip --no-automatic-dbgsym &&
	dh_shlibdeps &&
	dh_installdeb &&
	dh_gencontrol &&
	dh_md5sums &&
	dh_builddeb --destdir="$build" >>"$work/log" || {
	cat "$work/log" >&2
	exit 1
}
deb=$build/peakd_${version}_$(dpkg --print-architecture).deb
# shellcheck disable=SC2046 # options, one a line
lintian --fail-on error,warning --allow-root $(sed -n 's/^\([a-z].*\)/--suppress-tags=\1/p' "$root/packaging/lintian") "$deb"
echo "$deb: $(du -k "$deb" | cut -f1) KiB"
