#!/bin/sh
# Keeps the promise of the README: on a fresh Debian 12 that has only make, the named targets of this commit work.
# Usage: fresh-debian.sh [TARGET…] (demo check), from the checkout, as root, with debootstrap and a network; minutes.
# MIRROR names a Debian mirror other than debootstrap's own, KEEP=yes leaves the folder. Called by `make check-fresh`.
set -eu
targets=${*:-demo check}
if [ "$(id -u)" != 0 ] || ! command -v debootstrap >/dev/null; then
	echo "fresh-debian.sh: needs root and debootstrap: sudo apt-get install debootstrap" >&2
	exit 1
fi

top=$(mktemp -d "${TMPDIR:-/tmp}/peakd-fresh.XXXXXX")
leave()
{
	for part in proc dev; do umount -R "$top/$part" 2>/dev/null || true; done
	[ "${KEEP:-}" = yes ] || rm -rf --one-file-system "$top"
}
trap leave EXIT
trap 'exit 1' INT TERM

echo "fresh-debian: a minimal Debian 12 with make in $top"
chmod 755 "$top" # the root folder of everybody inside
debootstrap --variant=minbase --include=make bookworm "$top" ${MIRROR:+"$MIRROR"} >"$top.log" 2>&1 ||
	{ tail "$top.log" >&2; exit 1; }
rm -f "$top.log"
cp /etc/resolv.conf "$top/etc/resolv.conf"
mount -t proc proc "$top/proc"
mount --rbind /dev "$top/dev" && mount --make-rslave "$top/dev"
git clone -q . "$top/root/peakd"
for target in $targets; do
	start=$(date +%s)
	echo "fresh-debian: make $target"
	chroot "$top" env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 make -C /root/peakd "$target" </dev/null
	echo "fresh-debian: make $target: passed in $(($(date +%s) - start)) s"
done
