#!/bin/sh
# Subscriptions on the real daemon while jobs run: subscriptions/listen for tasks and resources (2026-07-28), and
# resources/subscribe (2025-11-25). Events from before a subscription are reported at once.
. "$(dirname "$0")/lib.sh"
cat >"$T/listen.py" <<'PY'
import json, sys, http.client, threading, time
port, source = int(sys.argv[1]), open(sys.argv[2]).read()
TASKS = {"extensions": {"io.modelcontextprotocol/tasks": {}}}

def post(method, params, caps, name=None, headers={}, modern=True):
    if modern:
        params = {**params, "_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
                                      "io.modelcontextprotocol/clientCapabilities": caps}}
        headers = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method, **({"Mcp-Name": name} if name else {})}
    c = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    c.request("POST", "/mcp", json.dumps({"jsonrpc": "2.0", "id": 7, "method": method, "params": params}),
              {"Content-Type": "application/json", "Accept": "application/json, text/event-stream", **headers})
    return c.getresponse()

def call(tool, arguments, caps={}):
    return json.load(post("tools/call", {"name": tool, "arguments": arguments}, caps, tool))["result"]

def events(response, until):
    """The messages of a stream, up to the one for which until() holds."""
    seen = []
    for line in response:
        if line.startswith(b"data: ") and len(line) > 8:
            seen.append(json.loads(line[6:]))
            if until(seen[-1]):
                break
    return seen

call("context_create", {"name": "s", "source": source})
task = call("validate", {"at": "s", "device": "hlsl:0", "samples": 2}, TASKS)
uri, log, measured = f"peak://job/{task['taskId']}", f"peak://job/{task['taskId']}/log", "peak://checkpoint/s/measurements"
filter_ = {"taskIds": [task["taskId"], "jnone"], "resourceSubscriptions": [uri, log, measured, "peak://docs/context-format"]}
stream = post("subscriptions/listen", {"notifications": filter_}, TASKS)
seen = events(stream, lambda m: m.get("params", {}).get("status") == "completed")
print("ack", json.dumps(seen[0]["params"]["notifications"]["taskIds"] == [task["taskId"]]), seen[0]["method"])
tasks = [m["params"] for m in seen if m["method"] == "notifications/tasks"]
print("task", tasks[-1]["taskId"] == task["taskId"], tasks[-1]["result"]["structuredContent"]["state"])
print("tagged", all(m["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"] == 7 for m in seen))
late = events(post("subscriptions/listen", {"notifications": {"taskIds": [task["taskId"]]}}, TASKS),
              lambda m: m["method"] == "notifications/tasks")
print("late", late[-1]["params"]["status"])
tune = threading.Thread(target=call, args=("tune", {"at": "s", "device": "hlsl:0", "budget": 2, "wait_s": 30}))
tune.start()
tune.join()
begun = time.monotonic()
told = [m["params"]["uri"] for m in seen + events(stream, lambda m: m.get("params", {}).get("uri") == measured)
        if m["method"] == "notifications/resources/updated"]
print("resources", uri in told, log in told, measured in told, "peak://docs/context-format" in told)

# The same through a session of an earlier protocol revision.
hello = post("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}, {}, modern=False)
session = {"Mcp-Session-Id": hello.getheader("Mcp-Session-Id"), "MCP-Protocol-Version": "2025-11-25"}
hello.read()
c = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
c.request("GET", "/mcp", headers={"Accept": "text/event-stream", **session})
stream = c.getresponse()
post("resources/subscribe", {"uri": measured}, {}, headers=session, modern=False).read()
print("legacy", events(stream, lambda m: True)[-1]["params"]["uri"] == measured)
PY
serve_http "$T/a.db"
if timeout 120 "$peakd" devices --db "$T/a.db" --json | jq -e '.devices[] | select(.id == "hlsl:0")' >/dev/null; then
	small_context >"$T/scale.peak.md"
	timeout 180 python3 "$T/listen.py" "$port" "$T/scale.peak.md" >"$T/said" 2>"$T/err"
	is $? 0 "every expected notification arrives" "$(tail -3 "$T/err")"
	said() # said WHAT
	{
		sed -n "s/^$1 //p" "$T/said"
	}
	is "$(said ack)" "true notifications/subscriptions/acknowledged" "an existing task is acknowledged, a missing one is not"
	is "$(said task)" "True done" "the end of a task is reported with the answer in it"
	is "$(said tagged)" "True" "every notification names its subscription"
	is "$(said late)" "completed" "a subscription after the end of a task still reports the end"
	is "$(said resources)" "True True True False" "updates of jobs and checkpoints are reported, unchanged resources are not"
	is "$(said legacy)" "True" "a session of an earlier revision gets its updates"
else
	skip 7 "no device runs HLSL here"
fi
kill "$daemon"
wait "$daemon"
is $? 0 "the daemon with subscriptions ends with status 0"
is "$(grep -c ' error: ' "$T/log")" 0 "the daemon with subscriptions logs no error"
done_testing
