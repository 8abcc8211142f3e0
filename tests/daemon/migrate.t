#!/bin/sh
# A database of every older version is brought up to date with its rows, after a copy of it was made. One of a newer peakd is left
# alone.
. "$(dirname "$0")/lib.sh"
newest=$(ls "$root"/schema/00*.sql | tail -1 | sed 's,.*/0*\([0-9]*\)-.*,\1,')
need_hlsl $((2 + 4 * (newest - 1) + 2)) "$T/d.db"
small_context >"$T/scale.peak.md"
timeout 120 "$peakd" run "$T/scale.peak.md" --db "$T/new.db" --budget 2 --samples 2 >"$T/out" 2>&1
is $? 0 "a workflow is tuned" "$(cat "$T/out")"
"$peakd" workflow log scale --db "$T/new.db" >"$T/log" 2>&1
"$peakd" backup "$T/whole.db" --db "$T/new.db" >"$T/out" 2>&1
is $? 0 "the database is copied" "$(cat "$T/out")"

# The rows of the newest version, as far as an older one has the tables and columns for them.
cat >"$T/older.py" <<'PYTHON'
import glob, sqlite3, sys
root, version, whole, path = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]
db = sqlite3.connect(path)
for file in sorted(glob.glob(root + "/schema/00*.sql"))[:version]:
    db.executescript(open(file).read())
db.execute("ATTACH ? AS whole", (whole,))
def names(query):
    return [row[0] for row in db.execute(query)]
tables = names("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY rootpage")
for table in tables:
    columns = ", ".join(set(names("SELECT name FROM pragma_table_info('%s')" % table)) &
                        set(names("SELECT name FROM pragma_table_info('%s', 'whole')" % table)))
    if columns:
        db.execute("INSERT INTO %s (%s) SELECT %s FROM whole.%s" % (table, columns, columns, table))
db.commit()
PYTHON
# Older versions did not record times of pairs, from which speed-ups come.
without_pairs()
{
	sed 's|GFLOP/s.* (n=|GFLOP/s (n=|' "$1"
}
for version in $(seq $((newest - 1))); do
	old=$T/v$version.db
	python3 "$T/older.py" "$root" "$version" "$T/whole.db" "$old" 2>"$T/err"
	"$peakd" workflow log scale --db "$old" >"$T/out" 2>&1
	is "$(without_pairs "$T/out")" "$(without_pairs "$T/log")" "a database of version $version shows the same log" \
		"$(cat "$T/err")"
	is "$(sqlite3 "$old" "PRAGMA user_version")" "$newest" "a database of version $version is brought up to date"
	"$peakd" check --db "$old" >"$T/out" 2>&1
	is $? 0 "a database of version $version is whole after the migration" "$(cat "$T/out")"
	is "$(sqlite3 "$old.v$version" "PRAGMA user_version; SELECT count(*) FROM checkpoint" | tr '\n' ' ')" "$version 1 " \
		"a copy of version $version was kept"
done
cp "$T/whole.db" "$T/newer.db"
sqlite3 "$T/newer.db" "PRAGMA user_version = 999"
sum=$(sha256sum <"$T/newer.db")
"$peakd" jobs --db "$T/newer.db" >"$T/out" 2>&1
has "$(cat "$T/out")" "written by a newer peakd" "a database of a newer peakd is refused"
is "$(sha256sum <"$T/newer.db")" "$sum" "a database of a newer peakd is not changed"
done_testing
