#!/bin/sh
# Makes one relocatable folder of a peakd binary: the program, the shared libraries that a bare machine may lack, its data and a
# launcher. `make bundle` calls it:
#   bundle.sh PEAKD FOLDER      PEAKD was linked with the rpath $ORIGIN/../lib; FOLDER is replaced
# Left out on purpose: the C library and its loader, which must match the machine's kernel and driver, and the libraries of GPU
# vendors, which peakd finds itself.
set -eu
peakd=$1
folder=$2
root=$(cd "$(dirname "$0")/../.." && pwd)

rm -rf "$folder"
mkdir -p "$folder/bin" "$folder/lib" "$folder/share/peakd"
cp "$peakd" "$folder/bin/peakd"
strip "$folder/bin/peakd"

# The C library's own parts are recognised by their names; all come from one package.
ldd "$peakd" | sed -n 's/^[[:space:]]*\([^ ]*\) => \(\/[^ ]*\) .*/\1 \2/p' | while read -r name file; do
	case $name in
	libc.so.* | libm.so.* | libdl.so.* | libpthread.so.* | librt.so.* | libresolv.so.* | libutil.so.* | libanl.so.* | \
		ld-linux*) ;;
	libcuda* | libnv* | libhip* | libhsa* | libamd* | libvulkan*) ;;
	*) cp -L "$file" "$folder/lib/$name" ;;
	esac
done
if ldd "$peakd" | grep 'not found' >&2; then
	echo "bundle: the libraries above are missing here" >&2
	exit 1
fi
chmod 644 "$folder"/lib/*
(cd "$root" && find transforms examples tests/adversary docs bench/export.py README.md -type f -print | while read -r file; do
	mkdir -p "$folder/share/peakd/$(dirname "$file")"
	cp -p "$file" "$folder/share/peakd/$file"
done)

# The newest version of the C library that a file in the folder needs.
needed=$(objdump -T "$folder"/bin/peakd "$folder"/lib/* | sed -n 's/.*(\{0,1\}GLIBC_\(2\.[0-9]*\).*/\1/p' | sort -t. -k2n -u |
	tail -1)
sed "s/@NEEDED@/$needed/" >"$folder/peakd" <<'LAUNCHER'
#!/bin/sh
# peakd from this folder, wherever it lies: no root, no packages. The libraries beside it are found by the program itself.
here=$(cd "$(dirname "$(readlink -f "$0")")" && pwd) || exit 1
needed=@NEEDED@
has=$(getconf GNU_LIBC_VERSION 2>/dev/null | sed 's/.* //')
oldest=$(printf '%s\n%s\n' "$needed" "$has" | sort -t. -k1n -k2n | head -1)
if [ -n "$has" ] && [ "$oldest" != "$needed" ]; then
	echo "peakd: this bundle needs glibc $needed or newer, and this machine has $has: make the bundle on a machine as old as this one" >&2
	exit 1
fi
exec "$here/bin/peakd" "$@"
LAUNCHER
chmod 755 "$folder/peakd"
echo "$folder: $(du -sh "$folder" | cut -f1), $(find "$folder/lib" -type f | wc -l) libraries, glibc $needed or newer"
