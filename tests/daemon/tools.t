#!/bin/sh
# Every tool is called over MCP. Each structured answer conforms to its tool's outputSchema (checked by a validator other than
# peakd's), errors are results with a message, and no answer is too long, however large the context or long the workflow.
. "$(dirname "$0")/lib.sh"
ready=no
timeout 120 "$peakd" devices --db "$T/a.db" --json | jq -e '.devices[] | select(.id == "hlsl:0")' >/dev/null && ready=yes
{
	small_context | sed -n '1,/^\[numthreads/p' | sed '$d'
	# A region of 40 kB, some of it in characters of three bytes.
	i=0
	while [ $i -lt 700 ]; do
		echo "// ‖out−ref‖/‖ref‖ ≤ 4·u·√K, line $i of a long explanation"
		i=$((i + 1))
	done
	small_context | sed -n '/^\[numthreads/,$p'
} >"$T/big.peak.md"
small_context >"$T/small.peak.md"
cat >"$T/client.py" <<'PYTHON'
import json, subprocess, sys

peakd, folder, ready = sys.argv[1], sys.argv[2], sys.argv[3] == "yes"
count, number, schemas, called = 0, 0, {}, set()
server = subprocess.Popen([peakd, "stdio", "--db", folder + "/a.db"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

def ok(good, name, *notes):
    global count
    count += 1
    print(("" if good else "not ") + "ok %d - %s" % (count, name))
    for note in notes if not good else ():
        print("#   " + str(note)[:600].replace("\n", " "))

def request(method, params):
    global number
    number += 1
    server.stdin.write(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}) + "\n")
    server.stdin.flush()
    while True:
        answer = json.loads(server.stdout.readline())
        if answer.get("id") == number:
            return answer

TYPES = {"object": dict, "array": list, "string": str, "boolean": bool}

def wrong(schema, value, where):
    """What does not conform: the part of JSON Schema that the tools' schemas use."""
    kind = schema.get("type")
    if kind == "integer" and (isinstance(value, bool) or not isinstance(value, int)):
        return where + " is no integer"
    if kind == "number" and (isinstance(value, bool) or not isinstance(value, (int, float))):
        return where + " is no number"
    if kind in TYPES and not isinstance(value, TYPES[kind]):
        return where + " is no " + kind
    if "enum" in schema and value not in schema["enum"]:
        return where + " is none of the enumeration"
    for name in schema.get("required", []):
        if name not in value:
            return where + " lacks " + name
    for name, part in schema.get("properties", {}).items():
        if isinstance(value, dict) and name in value:
            found = wrong(part, value[name], where + "." + name)
            if found:
                return found
    for i, item in enumerate(value if "items" in schema else []):
        found = wrong(schema["items"], item, "%s[%d]" % (where, i))
        if found:
            return found
    return None

def call(tool, title, limit=8000, **arguments):
    """A call that must succeed, conform and be short (limit: characters of text and of structured content)."""
    called.add(tool)
    answer = request("tools/call", {"name": tool, "arguments": arguments})
    result = answer.get("result", {})
    shown = result.get("structuredContent", {})
    text = "".join(c.get("text", "") for c in result.get("content", []))
    problem = answer.get("error") or (result.get("isError") and text) or wrong(schemas[tool], shown, tool)
    size = max(len(text), len(json.dumps(shown, ensure_ascii=False)))
    ok(not problem and size <= limit, "%s: %s (%d characters)" % (tool, title, size), problem, text)
    return shown

def text_of(tool, **arguments):
    """The text of a call that must succeed with a text alone."""
    called.add(tool)
    result = request("tools/call", {"name": tool, "arguments": arguments}).get("result", {})
    ok(not result.get("isError") and "structuredContent" not in result, "%s answers with a text alone" % tool, result)
    return "".join(c.get("text", "") for c in result.get("content", []))

def refused(tool, part, title, **arguments):
    result = request("tools/call", {"name": tool, "arguments": arguments}).get("result", {})
    text = "".join(c.get("text", "") for c in result.get("content", []))
    ok(result.get("isError") is True and part in text, "%s: %s" % (tool, title), text or result)

request("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}})
for tool in request("tools/list", {})["result"]["tools"]:
    schemas[tool["name"]] = tool.get("outputSchema", {})
big, small = open(folder + "/big.peak.md").read(), open(folder + "/small.peak.md").read()
call("devices", "list the devices")
call("context_create", "a large context", source=big, name="big")
call("context_create", "a small context", source=small, name="small")
call("transformations", "list all", backend="hlsl")
drafted = call("draft", "a kernel file", source="__global__ void f(const float *x, float *y, int n) { y[threadIdx.x] = x[threadIdx.x]; }\n"
               "void run() { int n = 64; float *a, *b; cudaMalloc(&a, n * 4); cudaMalloc(&b, n * 4); f<<<1, 64>>>(a, b, n); }\n")
ok(drafted["complete"] is True and drafted["questions"] == [], "draft: a complete kernel file leaves no questions", drafted)
refused("draft", "no recordings", "an unknown model", source="__global__ void f(float *x) { x[0] = 1; }", model="replay:none")
refused("draft", "no kernel", "a file without a kernel", source="int main() { return 0; }")
call("read", "one transformation", transformation="refactor", limit=20000)
refused("read", "no transformation", "a model in place of a transformation", transformation="model:replay:matmul-fp32-hlsl")
refused("transform_begin", "no transformation", "a model in place of a transformation", at="small", transformation="model:replay:matmul-fp32-hlsl")
call("workflow", "list", action="list")
page = text_of("read", at="big")
ok("from=" in page, "workflow: a page of a large source says how to read on", page[-200:])
whole, at = "", 0
while True:
    page = text_of("read", at="big", what="device", **{"from": at})
    body, mark, rest = page.partition("\n[bytes ")
    whole += body
    if not mark:
        break
    at = int(rest.split("from=")[1].split(",")[0])
ok(whole == big.split("```hlsl\n")[1].split("```\n")[0], "workflow: the pages together are the whole region", len(whole))
ok("Say what it does." in text_of("transform_begin", at="small", transformation="Say what it does."), "transform_begin: a first prompt")
refused("context_create", "backend", "a context without a backend", source=small.replace("backend: hlsl\n", ""))
refused("validate", "did you mean", "a misspelt workflow", at="smal")
if ready:
    for part, what, tool, arguments in (
            ("no search strategy", "an unknown strategy", "tune", {"strategy": "clever"}),
            ("does not declare the size n=7", "a size that is not declared", "tune", {"sizes": "n=7"}),
            ("objective", "an objective of unknown names", "tune", {"objective": "fun"}),
            ("no device 'hlsl:77'", "an unknown device", "tune", {"device": "hlsl:77"}),
            ("runs no hlsl code", "a device for other code", "validate", {"device": "cuda:sm_90a"}),
            ("does not declare the size n=7", "a size that is not declared", "profile", {"sizes": "n=7"}),
            ("no model 'replay:..'", "recordings outside of their folder", "transform", {"transformation": "unroll", "model": "replay:.."}),
            ("host", "host code that does not compile", "edit", {"region": "host", "text": "launch("})):
        refused(tool, part, what, at="small", **arguments)
    ok([j["kind"] for j in call("job", "list", action="list")["jobs"]] == ["draft"], "requests that cannot work leave no job")
refused("job", "id", "a wait without a job", action="wait")
if ready:
    call("validate", "a baseline", at="small", samples=2, wait_s=45)
    call("tune", "a baseline", at="small", budget=2, wait_s=45)
    pending = text_of("transform_begin", at="small", transformation="Say what it does.").split()[1].rstrip(":")
    region = small.split("```hlsl\n")[1].split("```\n")[0]
    call("transform_submit", "an answer by hand", pending=pending, answer="```hlsl\n// doubles\n" + region + "```\n", samples=2, wait_s=45, limit=60000)
    for i in range(14):
        request("tools/call", {"name": "edit", "arguments": {"at": "small", "region": "device", "text": "// step %d\n" % i + region,
                                                             "samples": 1, "wait_s": 45}})
    edit = call("edit", "a fifteenth edit", at="small", region="device", text="// last\n" + region, samples=1, wait_s=45)
    ok(edit.get("result", {}).get("passed") is True, "edit: the edited code passes validation", edit)
    narrower = small.replace("n: int = {", "n: int = {32, ", 1)
    ok(narrower != small, "the test's small context has sizes to change")
    refused("edit", "context_create", "a source with other sizes", at="small", source=narrower, samples=1, wait_s=45)
    log = call("workflow", "log of a long workflow", action="log", name="small")
    ok("note" in log and len(log["checkpoints"]) < 16, "workflow: a shortened log says that there is more", log.get("note"))
    log = request("tools/call", {"name": "workflow", "arguments": {"action": "log", "name": "small", "limit": 100}})["result"]
    ok(len(log["structuredContent"]["checkpoints"]) == 17, "workflow: a larger limit gives the whole log", len(log["structuredContent"]["checkpoints"]))
    call("workflow", "compare", action="compare", at="small", **{"with": "1"})
    for at in ("1", "small"):
        call("tune", "a checkpoint to compare", at=at, budget=2, wait_s=45)
    call("compare", "the head against the root", a="1", b="small", wait_s=45)
    call("profile", "the head", at="small", wait_s=45)
    for what in ("source", "host", "macros", "measurements", "validations", "exchanges", "best"):
        call("read", "read " + what, at="small", what=what)
    call("read", "diff", at="small", what="diff")
    call("workflow_change", "tag", action="tag", name="good", at="small")
    call("workflow_change", "branch", action="branch", name="other", at="small")
    call("workflow_change", "restore", action="restore", name="other", at="good")
    call("workflow", "export", action="export", at="2", limit=40000)
    jobs = call("job", "list", action="list")["jobs"]
    ok(len(jobs) >= 17, "job: list has all jobs", len(jobs))
    call("job", "log", action="log", id=jobs[-1]["job"])
    call("job", "get", action="get", id=jobs[0]["job"])
    refused("job_control", "has ended", "the end of a job that has ended", action="cancel", id=jobs[0]["job"])
    def page(tool, **arguments):
        return request("tools/call", {"name": tool, "arguments": {"action": "list", **arguments}})["result"]["structuredContent"]
    first = page("job", limit=2)
    rest = page("job", limit=1000, cursor=first["next"].split("cursor: ")[1].rstrip("}"))
    ok(len(first["jobs"]) == 2 and [j["job"] for j in first["jobs"] + rest["jobs"]] == [j["job"] for j in jobs],
       "job: the pages together are the list", first, rest)
    first = page("workflow", limit=1)
    rest = page("workflow", cursor=first["next"])
    ok([w["name"] for w in first["workflows"] + rest["workflows"]] == ["big", "other", "small"],
       "workflow: the pages together are the list", first, rest)
    refused("transform", "model", "a transform without a model", at="small", transformation="Say what it does.", wait_s=45)
    refused("optimize", "model", "a search without a model", at="small", wait_s=45)
    called.update(("transform", "optimize", "job_control"))
    ok(called == set(schemas), "every tool is called", set(schemas) - called)
server.stdin.close()
server.wait(60)
print("1..%d" % count)
PYTHON
timeout 250 python3 "$T/client.py" "$peakd" "$T" "$ready"
