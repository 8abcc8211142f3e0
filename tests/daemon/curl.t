#!/bin/sh
# docs/curl.md is run as written: its sh blocks in order, in one shell. The output is compared with what the page promises.
. "$(dirname "$0")/lib.sh"
root=$PWD

need_hlsl 1 "$T/d.db"
# The page's own text, except for the port, the binary and the database, which must not collide with others: the daemon takes a free
# port and reports it.
: >"$T/err"
awk '/^```sh$/ { on = 1; next } /^```$/ { on = 0 } on' docs/curl.md |
	sed "s|--listen 127.0.0.1:7325|--listen 127.0.0.1:0|; s|build/peakd|$peakd|; s|curl-demo.peakdb|$T/curl.db|
		s|^url=.*|until url=\$(grep -o 'http://[0-9.:]*' '$T/err'); do sleep 0.1; done|" >"$T/page.sh"
is "$(grep -c -e '--listen 127.0.0.1:0 ' -e "^until url=" "$T/page.sh") $(grep -c 7325 "$T/page.sh")" "2 0" \
	"the page names its address in two places, and nowhere else"
(cd "$root" && timeout "$limit" bash -eu "$T/page.sh") >"$T/out" 2>"$T/err"
is $? 0 "the page's commands succeed"
out=$(cat "$T/out")
has "$out" "transform_submit" "tools/list shows the tools"
has "$out" '"id":"hlsl:0"' "the page lists the devices"
has "$out" '"workflow":"curl"' "context_create makes a workflow"
has "$out" '{"state":"done","result":"' "the baseline is validated"
has "$out" '"median_ns"' "the baseline is tuned"
has "$out" '"checkpoint":' "a transformation makes a checkpoint"
has "$out" '"state":"accepted"' "transform_submit accepts the reader's own answer"
has "$out" '"by":"refactor"' "workflow log shows the steps"
has "$out" "+// C = A*B, one output element a thread" "workflow diff shows the change"
has "$out" "matmul_fp32_hlsl.peak.md" "the winner is exported"
has "$out" "curl" "a wrong name is answered with the right one"
[ -s "$T/err" ] && sed 's/^/# /' "$T/err"
done_testing
