#!/bin/sh
# check-source.py: each house rule is broken once in a small tree, and must be refused by name.
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

# A tree in which all is well: one file and its header in every layer.
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
plant core/judge/g.c '#include "core/record/f.h"' '#include "core/judge/g.h"' '#include "backends/wire/plan.h"' '#include "base/a.h"'
plant daemon/h.c '#include "mcp/b.h"' '#include "core/jobs/engine.h"' '#include "backends/worker/worker.h"' '#include <jansson.h>'
plant backends/cuda/d.c '#include <cuda.h>' '#include "backends/c.h"'
plant core/jobs/engine.c '#include "core/judge/g.h"'
check
report $? 'includes that look down pass'
fresh

includes base/a.c '"core/jobs/engine.h"' 'base/ may not include' 'base sees base only'
includes mcp/b.c '"core/jobs/engine.h"' 'mcp/ may not include' 'mcp does not see core'
includes core/jobs/engine.c '"mcp/b.h"' 'core/ may not include' 'core does not see mcp'
includes core/jobs/engine.h '"backends/worker/worker.h"' 'core/ may not include' 'core sees the wire of backends, not the worker'
includes backends/c.c '"core/jobs/engine.h"' 'backends/ may not include' 'backends do not see core'
includes daemon/h.c '"backends/wire/wire.h"' 'daemon/ may not include' 'the daemon sees the worker only'
includes core/record/f.c '"core/judge/g.h"' '"core/judge/g.h" lies above core/record/' 'record does not see judge'
includes core/context/e.h '"core/jobs/engine.h"' '"core/jobs/engine.h" lies above' 'context does not see the engine'
includes core/search/s.c '"core/transform/t.h"' '"core/transform/t.h" lies above' 'search does not see transform'
includes backends/cuda/d.c '"backends/hip/x.h"' 'backends/cuda/ may not include' 'vendors do not see each other'
includes core/jobs/engine.c '"engine.h"' 'write "core/jobs/engine.h"' 'includes start at the root'
includes core/judge/g.c '<cuda.h>' '<cuda.h> is for backends/ only' 'no vendor header outside backends'
includes daemon/h.c '<vulkan/vulkan.h>' '<vulkan/vulkan.h> is for backends/ only' 'nor Vulkan'
includes core/record/f.c '<jansson.h>' '<jansson.h> is for' 'JSON stops above record'
includes core/judge/g.c '<sqlite3.h>' '<sqlite3.h> is for' 'SQLite stays in record'
includes base/a.c '"schema_files.h"' '"schema_files.h" is for' 'the schema is not for base'

plant base/a.c 'static void f(void)' '{' "$(lines 100)" '}'
check
report $? 'a function of 100 lines passes'
plant base/a.c 'static void f(void)' '{' "$(lines 101)" '}'
refused 'base/a.c:3: a function of 101 lines' 'a function of 101 lines is refused'
plant base/a.c "$(lines 700)"
refused 'base/a.c:1: 701 lines' 'a file of 701 lines is refused'
plant base/a.c "$(lines 500)"
if check && grep -q 'base/a.c:1: warning: 501 lines' "$top/out"; then report 0 'one of 501 only warns'; else report 1 'one of 501 only warns'; fi
fresh

for i in $(seq 41); do plant "base/a_$i.c"; done
refused 'base:1: 43 files' 'a folder of 43 C files is refused'

plant base/lonely.c
refused 'lonely.c has no lonely.h' 'every .c has its .h'
plant base/a_more.c
check
report $? 'x_y.c may share x.h'
echo 'int x;' >"$top/tree/base/a.h"
refused 'base/a.h:1: begin with a comment' 'a file says what it is for'
plant base/a.c '// TO''DO later'
refused "base/a.c:2: 'TO""DO'" 'no unfinished words'
plant base/a.c '/* stub */'
refused "base/a.c:2: '/* stub'" 'no stubs'
plant docs/x.md 'see /home/somebody/x'
refused 'docs/x.md:2: ' 'no paths of one machine'
plant core/record/f.c 'static const char *q = "SELECT 1";'
refused 'core/record/f.c:2: SQL lives in schema/' 'no SQL outside schema'

plant tests/x.t
refused 'tests/x.t:1: a test that cannot be run' 'tests are executable'

# What objects define: compiled here, since names and sections are the compiler's.
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
fails 'f is a mutable global' 'an exported variable is refused, constant tables are not'
if grep -q 'names\|k is' "$top/out"; then report 1 'constant tables pass'; else report 0 'constant tables pass'; fi
compiled core/record/f.c 'int helper(void) { return 1; }'
fails 'exports helper: call it f_' 'a function without its file as prefix'
compiled core/record/f.c 'int fs_all(void) { return 1; } int f_next(void) { static int count; return ++count; }'
fails 'count is a mutable global' 'a static variable in a function'
compiled core/record/f.c '_Thread_local int f_mine;'
fails 'f_mine is a mutable global' 'a thread-local one'
compiled base/log.c 'static int level_now = 1; int log_level(int n) { return level_now += n; }'
plant base/log.h ''
check --objects "$top/objects"
report $? 'the listed global and a prefixed function pass'
compiled backends/cuda/d.c 'const int backend_cuda = 1; int cuda_d(void) { return 1; }'
report "$status" "a vendor's room may use the vendor's prefix"
rm "$top/objects/core/jobs/engine.c.o"
check --objects "$top/objects"
status=$?
fails 'core/jobs/engine.c:1: is not compiled' 'a file that the Makefile does not compile'

echo "1..$count"
