#!/bin/sh
# A session as an agent without help has it: what each answer costs in bytes, and that one call of edit is a whole step: validated,
# tuned, timed in pairs with its parent, and kept as the head or taken back.
. "$(dirname "$0")/lib.sh"
need_hlsl 1 "$T/d.db"
cat >"$T/session.py" <<'EOF'
import json, subprocess, sys

peakd, db = sys.argv[1:]
server = subprocess.Popen([peakd, "stdio", "--db", db], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
count = number = traffic = 0
CONTEXT = """---
kernel: pick
backend: hlsl
inputs:
  n: int = {1024}
  A: f32[n] = random closed
  C: out f32[n]
tune:
  T: {8, 32}
check: n = {100}
---
```hlsl
%s
```
```lua host
launch("pick", cdiv(n, T), T, {A, C, n})
```
"""
SLOW = """[numthreads(T, 1, 1)]
void pick(uint3 id : SV_DispatchThreadID)
{
	if (int(id.x) >= n) return;
	float s = 0;
	for (int k = 0; k < n; k++) s += A[(id.x + k) % uint(n)] * float(k == 0);
	C[id.x] = s;
}"""
FAST = "[numthreads(8, 1, 1)]\nvoid pick(uint3 id : SV_DispatchThreadID) { if (int(id.x) < n) C[id.x] = A[id.x]; }"

def ok(good, name, *notes):
    global count
    count += 1
    print(("" if good else "not ") + "ok %d - %s" % (count, name))
    for note in notes if not good else ():
        print("#   " + str(note)[:900].replace("\n", " "))

def request(method, params):
    global number, traffic
    number += 1
    message = json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
    server.stdin.write(message + "\n")
    server.stdin.flush()
    while True:
        line = server.stdout.readline()
        traffic += len(line.encode())
        answer = json.loads(line)
        if answer.get("id") == number:
            traffic += len(message)
            return answer, len(line.encode())

def call(limit, tool, **arguments):
    """Text and data of an answer that is waited for, which may have so many bytes."""
    answer, size = request("tools/call", {"name": tool, "arguments": arguments})
    shown = answer["result"].get("structuredContent", {})
    while shown.get("state") in ("queued", "running"):
        ok(size < 1000, "%s: a running job's answer is short: %d bytes" % (tool, size))
        answer, size = request("tools/call", {"name": "job", "arguments": {"action": "wait", "id": shown["job"]}})
        shown = answer["result"].get("structuredContent", {})
    text = "".join(c.get("text", "") for c in answer["result"]["content"])
    ok(0 < size <= limit, "%s: %d of %d bytes" % (tool, size, limit), text)
    return text, shown.get("result", shown)

def head():
    return call(700, "workflow", action="list")[1]["workflows"][0]["head"]

request("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "agent", "version": "1"}})
_, size = request("prompts/get", {"name": "optimize-step", "arguments": {"workflow": "pick"}})
ok(size < 5000, "the prompt optimize-step has %d of 5000 bytes" % size)
call(1500, "context_create", source=CONTEXT % SLOW)
text, _ = call(2000, "edit", at="pick", keep="faster", region="device", text=FAST)
ok("tune it first" in text, "an edit that is to be compared needs a tuned parent", text)
text, _ = call(3000, "tune", at="pick")
text, result = call(7500, "profile", at="pick")
lines = text.splitlines()
ok("limited by" in lines[0] and lines[1].strip().startswith("- cpu-"), "a profile begins with the class and the first guidance", text)
ok(all(h["guidance"] in text for h in result["sizes"][0]["guidance"]), "the text gives all guidance that the data give", text)
ok("figures" not in json.dumps(result), "the figures behind it stay in the record", result)

text, result = call(4000, "edit", at="pick", keep="faster", source="---\ntune:\n  T: {8}\n---\n```hlsl\n" + FAST + "\n```\n")
ok(result.get("passed") is True and result.get("kept", "").startswith("kept: ") and "kept: " in text, "a faster edit is kept", text)
ok(head() == result.get("checkpoint"), "it is the head")
source = call(3000, "read", at="pick")[0]
ok("T: {8}" in source and "launch(\"pick\"" in source and "32}" not in source and "k < n" not in source, "what the edit left out is the parent's, what it gave is its own", source)
was = head()
text, result = call(4000, "edit", at="pick", keep="faster", region="device", text=SLOW)
ok(result.get("passed") is True and result.get("kept", "").startswith("not kept: slower, "), "a slower edit is not kept", text)
ok(head() == was, "and the head is the parent again", text)
text, result = call(4000, "edit", at="pick", keep="faster", region="device", text=FAST.replace("A[id.x];", "A[id.x] + 1;"))
ok(result.get("passed") is False and not result.get("sizes") and "not kept: it failed" in text and head() == was, "a wrong edit is not tuned, and moves nothing", text)
text, result = call(4000, "edit", at="pick", keep="faster", region="device", text=FAST.replace("A[id.x];", "A[id.x]"))
ok("device:2: " in text and "C[id.x] = A[id.x]" in text and head() == was, "a compile error shows the line", text)
text, _ = call(2500, "edit", at="pick", keep="faster", source="no fence at all")
ok("fence" in text, "a text without a fence is answered with what to write", text)
ok(traffic < 60000, "the session has %d of 60000 bytes" % traffic)
server.stdin.close()
server.wait(60)
print("1..%d" % count)
EOF
python3 "$T/session.py" "$peakd" "$T/a.db"
