#!/bin/sh
# Prints which share of the lines of each room the last instrumented run reached. Usage: cover.sh BUILD; called by
# `make cover` with a build folder whose objects were compiled with --coverage.
set -eu
build=$1
find "$build" -name '*.c.gcda' -not -path "$build/tests/*" | sort | while read -r data; do
	# An object that no test linked has no .gcda and does not count; gcov -n writes no files.
	gcov -n -r "${data%.gcda}.o" 2>/dev/null
done | awk -F "'" '
	/^File / { file = $2 }
	/^Lines executed:/ && file ~ /\.(c|cc)$/ {
		split($0, part, /[:% ]+/)     # Lines executed 95.00 of 60
		room = file; sub(/\/[^\/]*$/, "", room)
		lines[room] += part[5]; hit[room] += part[5] * part[3] / 100
		file = ""
	}
	END {
		for (room in lines) {
			printf "%-20s %5.1f %% of %d lines\n", room, 100 * hit[room] / lines[room], lines[room] | "sort"
			all += lines[room]; all_hit += hit[room]
		}
		close("sort")
		if (all) printf "%-20s %5.1f %% of %d lines\n", "all", 100 * all_hit / all, all
	}'
