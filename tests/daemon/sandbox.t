#!/bin/sh
# The workers' sandbox as a user sees it: silent when complete, reported when switched off. Workers inherit no secrets, and a
# sandboxed compiler does not hide the devices.
. "$(dirname "$0")/lib.sh"
unset PEAKD_SANDBOX
export TEST_API_KEY=secret-one HIDDEN=secret-two PEAKD_MODEL='openai:http://127.0.0.1:9/v1?model=m&key_env=HIDDEN' KEPT=kept

out=$(PEAKD_SANDBOX=off timeout 120 "$peakd" devices --db "$T/off.db")
is $? 0 "devices are listed without a sandbox"
has "$out" "sandbox: OFF by PEAKD_SANDBOX=off" "devices says that the sandbox is off"
case $out in *"not available: sandbox"*) false ;; *) true ;; esac
ok $? "devices says it on a line of its own"

out=$(timeout 120 "$peakd" devices --db "$T/a.db")
is $? 0 "devices are listed with the sandbox"
case $out in *OFF*) false ;; *) true ;; esac
ok $? "devices does not report the sandbox when it is complete" "$out"

daemon=$(holder "$T/a.db")
wait_for 60 pgrep -P "$daemon"
worker=$(pgrep -P "$daemon" | head -n 1)
wait_for 60 grep -q worker "/proc/$worker/cmdline" # before, the child is a copy of the daemon
tr '\0' '\n' <"/proc/$worker/environ" >"$T/environ"
has "$(cat "$T/environ")" KEPT=kept "a worker inherits the environment"
grep -c 'secret-\(one\|two\)' "$T/environ" >"$T/secrets"
is "$(cat "$T/secrets")" 0 "a worker inherits no secrets"
has "$(tr '\0' '\n' <"/proc/$daemon/environ")" secret-two "the daemon itself has the secrets"
is "$(awk '/^Max core file size/ { print $5 $6 }' "/proc/$worker/limits")" 00 "a worker leaves no core file"

python=$(command -v /usr/bin/python3 python3 | head -n 1)
out=$(timeout 60 "$peakd" worker -- + "$python" -IBc 'import os, subprocess
own = os.environ["TMPDIR"]
subprocess.run(["sh", "-c", ": >" + own + "/x"], check=True)
for path, mode in (("/etc/passwd", "r"), (own + "/../../y", "w")):
    try:
        open(path, mode)
        print("opened", path)
    except PermissionError:
        pass
print(os.path.exists(own + "/x"), subprocess.run(["cat", "/etc/passwd"], capture_output=True).returncode)' 2>&1)
is "$out" "True 1" "a program that may build starts others; all of them reach a scratch folder, and no other file of the user"
timeout 60 "$peakd" worker -- "$python" -IBc 'import subprocess; subprocess.run(["true"])' >/dev/null 2>&1
is $? 1 "any other program starts none"

need_hlsl 3 "$T/a.db"
small_context >"$T/scale.peak.md"
unset PEAKD_MODEL
timeout 120 "$peakd" run "$T/scale.peak.md" --db "$T/b.db" --budget 2 --samples 2 --sizes n=4096 >"$T/run.out" 2>&1
is $? 0 "a kernel is compiled, validated and tuned in the sandbox" "$(tail -n 5 "$T/run.out")"
daemon=$(holder "$T/b.db")
sandboxed=0
for worker in $(pgrep -P "$daemon"); do
	grep -q '^Seccomp:	2' "/proc/$worker/status" && grep -q '^NoNewPrivs:	1' "/proc/$worker/status" &&
		sandboxed=$((sandboxed + 1))
done
[ $sandboxed -ge 2 ]
ok $? "compilers and device workers are sandboxed" "closed: $sandboxed"
devices=$(timeout 120 "$peakd" devices --db "$T/b.db" --refresh 2>&1)
has "$devices" "hlsl:0" "devices are found again after compiling"
done_testing
