#!/bin/sh
# docs/curl.md, run as it stands: its sh blocks in order, in one shell. What they print is compared with what the page promises.
. "$(dirname "$0")/lib.sh"
root=$PWD

need_hlsl 1 "$T/d.db"
# The page's own words, but for the port, the binary and the database, which must not collide with somebody else's: the daemon takes a free port, and
# says which.
: >"$T/err"
awk '/^```sh$/ { on = 1; next } /^```$/ { on = 0 } on' docs/curl.md |
	sed "s|--listen 127.0.0.1:7325|--listen 127.0.0.1:0|; s|build/peakd|$peakd|; s|curl-demo.peakdb|$T/curl.db|
		s|^url=.*|until url=\$(grep -o 'http://[0-9.:]*' '$T/err'); do sleep 0.1; done|" >"$T/page.sh"
is "$(grep -c -e '--listen 127.0.0.1:0 ' -e "^until url=" "$T/page.sh") $(grep -c 7325 "$T/page.sh")" "2 0" "the page says where it serves, twice"
(cd "$root" && timeout 250 bash -eu "$T/page.sh") >"$T/out" 2>"$T/err"
is $? 0 "the page runs to its end"
out=$(cat "$T/out")
has "$out" "transform_submit" "tools are listed"
has "$out" '"id":"hlsl:0"' "devices too"
has "$out" '"workflow":"curl"' "a workflow begins"
has "$out" '{"state":"done","result":"' "it is validated"
has "$out" '"median_ns"' "and tuned"
has "$out" '"checkpoint":' "a transformation makes a checkpoint"
has "$out" '"state":"accepted"' "an answer of one's own is accepted"
has "$out" '"by":"refactor"' "the log shows the steps"
has "$out" "+// C = A*B, one output element a thread" "the diff shows the change"
has "$out" "matmul-fp32-hlsl.peak.md" "the winner is exported"
has "$out" "curl" "a wrong name is answered with the right one"
[ -s "$T/err" ] && sed 's/^/# /' "$T/err"
done_testing
