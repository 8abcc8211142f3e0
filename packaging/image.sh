#!/bin/sh
# Makes a Debian 12 that has nothing but the package and what it needs, lavapipe included, as an archive of files: the one layer of
# the container image (dist.py), and the proof that the package installs and runs on a clean system. `make dist` calls it:
#   image.sh DEB ARCHIVE        needs mmdebstrap and a Debian mirror; minutes
set -eu
deb=$(readlink -f "$1")
archive=$2
work=$(mktemp -d "${TMPDIR:-/tmp}/peakd-image.XXXXXX")
trap 'rm -rf "$work"' EXIT
cp "$deb" "$work/peakd.deb"
chmod -R a+rX "$work"
# In the new system: the package comes and goes once, and only then stays. What apt keeps of its own is no trace of the package.
cat >"$work/inside.sh" <<'INSIDE'
set -eu
export DEBIAN_FRONTEND=noninteractive
files()
{
	find / -xdev -path /proc -prune -o -path /sys -prune -o -path /tmp -prune -o -print | grep 'peakd\|^/etc' | sort
}
install_package()
{
	apt-get install -q -y --no-install-recommends /tmp/peakd.deb
}
apt-get install -q -y --no-install-recommends systemd libcurl4 # their traces are not the package's
install_package
peakd version
su -s /bin/sh -c 'cd /tmp && XDG_DATA_HOME=/tmp/data XDG_CACHE_HOME=/tmp/cache peakd devices --json' nobody | grep '"hlsl:0"'
apt-get purge -q -y peakd
files | grep peakd >/tmp/left || true
if grep -v '^/tmp\|^/etc/\(passwd\|group\|g\?shadow\)' /tmp/left; then
	echo "the package left the files above" >&2
	exit 1
fi
install_package
install -d -o peakd -g peakd -m 700 /var/lib/peakd
rm -rf /tmp/* /var/lib/apt/lists/* /var/cache/apt/* /var/log/*.log /var/log/apt/*
INSIDE
mmdebstrap --quiet --variant=apt --include=ca-certificates,libvulkan1,mesa-vulkan-drivers,python3 \
	--aptopt='APT::Install-Recommends "false"' \
	--dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
	--dpkgopt='path-exclude=/usr/share/doc/*' \
	--dpkgopt='path-include=/usr/share/doc/*/copyright' --dpkgopt='path-include=/usr/share/doc/peakd/*' \
	--customize-hook="copy-in $work/peakd.deb $work/inside.sh /tmp" --customize-hook='chroot "$1" sh /tmp/inside.sh' \
	bookworm "$archive" >"$archive.log" 2>&1 || {
	tail -30 "$archive.log" >&2
	exit 1
}
rm "$archive.log"
