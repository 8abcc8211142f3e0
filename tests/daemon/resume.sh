# resume: shared by resume.t and resume-steps.t, which source it.
. "$(dirname "$0")/lib.sh"
db=$T/a.db
sql() # sql STATEMENT
{
	sqlite3 -readonly -cmd '.timeout 20000' "$db" "$1"
}
resume() # resume FILE [OPTION…]: runs the same command line again
{
	file=$1
	shift
	timeout 300 "$peakd" run "$file" --db "$db" --samples 2 --resume --json "$T/rows.json" "$@" >"$T/out" 2>"$T/err"
}
table() # prints the tables at the end of the last run
{
	sed -n '/ on .*(hlsl:0)$/,$p' "$T/out"
}
