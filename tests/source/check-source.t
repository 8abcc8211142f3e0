#!/bin/sh
# check-source.py: each house rule is broken once in a small tree, and check-source.py must name the rule.
set -u
checker=$(dirname "$0")/check-source.py
top=$(mktemp -d "${TMPDIR:-/tmp}/check-source.XXXXXX") || exit 1
trap 'rm -rf "$top"' EXIT
count=0

report() # 0|1 what
{
	count=$((count + 1))
	if [ "$1" = 0 ]; then echo "ok $count - $2"; else echo "not ok $count - $2"; sed 's/^/# /' "$top/out"; fi
}

# A tree that follows all rules: one file and its header in every layer.
fresh()
{
	rm -rf "$top/tree"
	for file in base/a mcp/b backends/c backends/cuda/d core/context/e core/record/f core/judge/g core/jobs/engine daemon/h; do
		plant "$file.c" "#include \"$file.h\""
		plant "$file.h" ''
	done
}

plant() # path lines…
{
	path=$top/tree/$1
	mkdir -p "$(dirname "$path")"
	shift
	printf '%s\n' '/* what it is for */' "$@" >"$path"
}

check()
{
	python3 "$checker" "$@" "$top/tree" >"$top/out" 2>&1
}

refused() # part of the message, what
{
	if check; then report 1 "$2"; else grep -qF -- "$1" "$top/out"; report $? "$2"; fi
	fresh
}

lines() # n
{
	seq "$1" | sed 's/.*/	x();/'
}

includes() # file header part-of-message what
{
	plant "$1" "#include $2"
	refused "$1:2: $3" "$4"
}

fresh
check
report $? 'a clean tree passes'
plant core/judge/g.c '#include "core/record/f.h"' '#include "core/judge/g.h"' '#include "backends/wire/plan.h"' \
	'#include "base/a.h"'
plant daemon/h.c '#include "mcp/b.h"' '#include "core/jobs/engine.h"' '#include "backends/worker/worker.h"' '#include <jansson.h>'
plant backends/cuda/d.c '#include <cuda.h>' '#include "backends/c.h"'
plant core/jobs/engine.c '#include "core/judge/g.h"'
check
report $? 'includes of lower rooms pass'
fresh

includes base/a.c '"core/jobs/engine.h"' 'base/ may not include' 'an include of core in base is refused'
includes mcp/b.c '"core/jobs/engine.h"' 'mcp/ may not include' 'an include of core in mcp is refused'
includes core/jobs/engine.c '"mcp/b.h"' 'core/ may not include' 'an include of mcp in core is refused'
includes core/jobs/engine.h '"backends/worker/worker.h"' 'core/ may not include' 'an include of the worker in core is refused'
includes backends/c.c '"core/jobs/engine.h"' 'backends/ may not include' 'an include of core in backends is refused'
includes daemon/h.c '"backends/wire/wire.h"' 'daemon/ may not include' 'an include of the wire in daemon is refused'
includes core/record/f.c '"core/judge/g.h"' '"core/judge/g.h" lies above core/record/' 'an include of judge in record is refused'
includes core/context/e.h '"core/jobs/engine.h"' '"core/jobs/engine.h" lies above' 'an include of the engine in context is refused'
includes core/search/s.c '"core/transform/t.h"' '"core/transform/t.h" lies above' 'an include of transform in search is refused'
includes backends/cuda/d.c '"backends/hip/x.h"' 'backends/cuda/ may not include' 'an include of one vendor in another is refused'
includes core/jobs/engine.c '"engine.h"' 'write "core/jobs/engine.h"' 'an include that does not start at the root is refused'
includes core/judge/g.c '<cuda.h>' '<cuda.h> is for backends/ only' "a vendor's header outside backends is refused"
includes daemon/h.c '<vulkan/vulkan.h>' '<vulkan/vulkan.h> is for backends/ only' "Vulkan's header outside backends is refused"
includes core/record/f.c '<jansson.h>' '<jansson.h> is for' 'jansson in record is refused'
includes core/judge/g.c '<sqlite3.h>' '<sqlite3.h> is for' 'SQLite outside record is refused'
includes base/a.c '"embedded_files.h"' '"embedded_files.h" is for' 'the embedded files are read in one place'

plant base/a.c 'static void f(void)' '{' "$(lines 100)" '}'
check
report $? 'a function of 100 lines passes'
plant base/a.c 'static void f(void)' '{' "$(lines 101)" '}'
refused 'base/a.c:3: a function of 101 lines' 'a function of 101 lines is refused'
plant base/a.c "$(lines 700)"
refused 'base/a.c:1: 701 lines' 'a file of 701 lines is refused'
plant base/a.c "$(lines 500)"
if check && grep -q 'base/a.c:1: warning: 501 lines' "$top/out"; then \
	report 0 'a file of 501 lines only gets a warning'; else report 1 'a file of 501 lines only gets a warning'; fi
fresh

wide="$(printf "x = y; /* %0118d" 0)"
plant base/a.c "$wide */;"
check
report $? 'a line of 132 columns passes'
plant base/a.c "	$wide */;"
refused 'base/a.c:2: 140 columns' 'a line of 140 columns, of which a tab is eight, is refused'

plant bench/a.py "$(printf 'x = "%0130d"' 0)" "$(printf 'x = 1  # %0130d' 0)"
refused 'bench/a.py:3: 139 columns' 'a wide line of Python is refused, unless one text makes it wide'

plant base/a.c 'static void f(int a, int b, int c, int d, int e,' '              void (*f)(int, int), int g)' '{' '}'
check
report $? 'a function of seven parameters passes'
plant base/a.c 'static void f(int a, int b, int c, int d, int e,' '              void (*f)(int, int), int g, int h)' '{' '}'
refused 'base/a.c:2: f has 8 parameters' 'a function of eight parameters is refused'

fields() # n
{
	seq "$1" | sed 's/.*/	int (*x&)(int a, int b);/'
}
plant base/a.c 'struct a {' "$(fields 19)" '	struct b { int c, d; } e;' '};'
check
report $? 'a struct of 20 fields passes'
plant base/a.c '/* A row. */' 'struct a {' "$(fields 19)" '	int y, z; /* both */' '};'
refused 'base/a.c:3: struct a has 21 fields' 'a struct of 21 fields is refused'
plant base/a.c '/* A row; more than 20 fields, because the table' ' * has as many columns. */' 'struct a {' "$(fields 21)" '};'
check
report $? 'a struct of 21 fields with a reason passes'
fresh

for i in $(seq 41); do plant "base/a_$i.c"; done
refused 'base:1: 43 files' 'a folder of 43 C files is refused'

plant base/lonely.c
refused 'lonely.c has no lonely.h' 'a .c file without its .h is refused'
plant base/a_more.c
check
report $? 'x_y.c may share x.h'
echo 'int x;' >"$top/tree/base/a.h"
refused 'base/a.h:1: begin with a comment' 'a file without a comment at its top is refused'
plant base/a.c '// TO''DO later'
refused "base/a.c:2: 'TO""DO'" 'a mark of unfinished work is refused'
plant base/a.c '/* stub */'
refused "base/a.c:2: '/* stub'" 'a stub is refused'
plant docs/x.md 'see /home/somebody/x'
refused 'docs/x.md:2: ' 'a path of one machine is refused'
plant docs/glossary.md '| term | meaning |' '| --- | --- |' "$(seq 40 | sed 's/.*/| & | what it is |/')"
check
report $? 'a glossary of 40 terms passes'
plant docs/glossary.md '| term | meaning |' '| --- | --- |' "$(seq 41 | sed 's/.*/| & | what it is |/')"
refused 'docs/glossary.md:1: 41 terms' 'a glossary of 41 terms is refused'
plant core/record/f.c 'static const char *q = "SELECT 1";'
refused 'core/record/f.c:2: SQL lives in schema/' 'SQL outside schema is refused'

plant tests/x.t
refused 'tests/x.t:1: a test that cannot be run' 'a test that is not executable is refused'

# Symbols of object files: compiled here, because names and sections come from the compiler.
echo | ${CC:-gcc} -x c -c - -o "$top/empty.o"
compiled() # path lines…
{
	plant "$@"
	for other in $(cd "$top/tree" && find . -name '*.c'); do
		mkdir -p "$top/objects/$(dirname "$other")"
		cp "$top/empty.o" "$top/objects/$other.o"
	done
	${CC:-gcc} -O2 -fPIC -c "$top/tree/$1" -o "$top/objects/$1.o" || echo "# $1 does not compile"
	check --objects "$top/objects"
	status=$?
}

fails() # part-of-message what
{
	if [ "$status" = 0 ]; then report 1 "$2"; else grep -qF -- "$1" "$top/out"; report $? "$2"; fi
	fresh
	rm -rf "$top/objects"
}

compiled core/record/f.c 'static const char *const names[] = { "x" };' \
	'const char *f_name(int i) { static const int k[] = { 0 }; return names[k[i]]; }' 'int f = 0;'
fails 'f is a mutable global' 'an exported variable is refused'
if grep -q 'names\|k is' "$top/out"; then report 1 'constant tables pass'; else report 0 'constant tables pass'; fi
compiled core/record/f.c 'int helper(void) { return 1; }'
fails 'exports helper: call it f_' "a function without its file's prefix is refused"
compiled core/record/f.c 'int fs_all(void) { return 1; } int f_next(void) { static int count; return ++count; }'
fails 'count is a mutable global' 'a static variable in a function is refused'
compiled core/record/f.c '_Thread_local int f_mine;'
fails 'f_mine is a mutable global' 'a thread-local variable is refused'
compiled base/log.c 'static int level_now = 1; int log_level(int n) { return level_now += n; }'
plant base/log.h ''
check --objects "$top/objects"
report $? 'a listed global variable and a prefixed function pass'
compiled backends/cuda/d.c 'const int backend_cuda = 1; int cuda_d(void) { return 1; }'
report "$status" "a vendor's room may use the vendor's prefix"
rm "$top/objects/core/jobs/engine.c.o"
check --objects "$top/objects"
status=$?
fails 'core/jobs/engine.c:1: is not compiled' 'a file that the Makefile does not compile is refused'

echo "1..$count"
