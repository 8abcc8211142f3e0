#!/bin/sh
# Writes the man pages and the completions of shells from the texts of `peakd help`, which come from the tables of options: they
# cannot differ. `make` calls it:
#   pages.sh PEAKD FOLDER
set -eu
peakd=$1
folder=$2
here=$(dirname "$0")
mkdir -p "$folder"
"$peakd" help >"$folder/help.txt"
for verb in $(sed -n 's/^  \([a-z-]*\) .*/\1/p' "$folder/help.txt"); do
	case $verb in
	version | help | worker) ;;
	*) "$peakd" help "$verb" ;;
	esac
done >>"$folder/help.txt"
LC_ALL=C
export LC_ALL
version=$("$peakd" version | sed 's/.* //')
for page in peakd.1 peakd.conf.5 bash zsh fish; do
	awk -v page="$page" -v version="$version" -f "$here/pages.awk" "$folder/help.txt" >"$folder/$page.tmp"
	mv "$folder/$page.tmp" "$folder/$page"
done
