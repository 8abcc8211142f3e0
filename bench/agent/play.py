#!/usr/bin/env python3
"""Plays an agent's session over MCP and counts what it costs: calls, bytes sent and received (bodies of requests and answers).

    peakd serve --listen 127.0.0.1:7325 --db agent.peakdb &
    bench/agent/play.py begin LOG                       discover, tools/list and the prompt optimize-step, as a client reads them
    bench/agent/play.py call LOG TOOL 'JSON'            one tools/call, and job {action: wait} until its job has ended: each is a
                                                        call. "@FILE" as an argument's value stands for the file's text
    bench/agent/play.py slim LOG SESSION                leaves out what the table does not need
    bench/agent/play.py session FILE LOG                plays the calls of a log or session again, from the beginning
    bench/agent/play.py table PLAYER LOG ...            JSON, one row a log: calls, bytes, and the speed-up over the tuned
                                                        baseline in pairs; PLAYER says who played

The endpoint is PEAKD_URL (default http://127.0.0.1:7325/mcp). A log has one line a request; sessions/ holds those of the
results."""
import json, os, subprocess, sys, time, urllib.request

URL = os.environ.get("PEAKD_URL", "http://127.0.0.1:7325/mcp")
VERSION = "2026-07-28"


def request(log, method, params, name=None):
    """One request, written to the log; its result."""
    meta = {"io.modelcontextprotocol/protocolVersion": VERSION, "io.modelcontextprotocol/clientCapabilities": {}}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": meta}}).encode()
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
               "MCP-Protocol-Version": VERSION, "Mcp-Method": method}
    if name:
        headers["Mcp-Name"] = name
    begun = time.time()
    with urllib.request.urlopen(urllib.request.Request(URL, body, headers), timeout=400) as answer:
        raw = answer.read()
    lines = [line.removeprefix("data: ") for line in raw.decode().splitlines()]
    messages = [json.loads(line) for line in lines if line.startswith("{")]
    message = next(m for m in messages if "id" in m)
    result = message.get("result", {"isError": True, "content": [{"text": json.dumps(message.get("error"))}]})
    row = {"method": method, "params": params, "sent": len(body), "received": len(raw), "seconds": round(time.time() - begun, 1)}
    if method == "tools/call":
        row |= {"text": text_of(result), "data": result.get("structuredContent"), "error": result.get("isError", False)}
    with open(log, "a") as out:
        out.write(json.dumps(row) + "\n")
    return result


def text_of(result):
    return "\n".join(c.get("text", "") for c in result.get("content", []))


def begin(log, workflow):
    request(log, "server/discover", {})
    request(log, "tools/list", {})
    result = request(log, "prompts/get", {"name": "optimize-step", "arguments": {"workflow": workflow}}, "optimize-step")
    return result["messages"][0]["content"]["text"]


def call(log, tool, arguments):
    """A call and the waiting for its job; the last text, which is all that an agent reads."""
    result = request(log, "tools/call", {"name": tool, "arguments": arguments}, tool)
    while (result.get("structuredContent") or {}).get("state") in ("queued", "running"):
        wait = {"action": "wait", "id": result["structuredContent"]["job"]}
        result = request(log, "tools/call", {"name": "job", "arguments": wait}, "job")
    return text_of(result)


def with_files(value):
    return open(value[1:]).read() if isinstance(value, str) and value.startswith("@") else value


def rows_of(log):
    return [json.loads(line) for line in open(log)]


def row_of(log):
    """What a session cost and brought: the last step that was kept, in pairs with the baseline at its best."""
    rows = rows_of(log)
    calls = [r for r in rows if r["method"] == "tools/call"]
    tools = {}
    for r in calls:
        tools[r["params"]["name"]] = tools.get(r["params"]["name"], 0) + 1
    kept = [r["data"]["result"] for r in calls
            if r.get("data") and str((r["data"].get("result") or {}).get("kept", "")).startswith("kept")]
    row = {"kernel": os.path.basename(log).rsplit(".", 1)[0], "calls": len(calls), "tools": tools,
           "sent": sum(r["sent"] for r in rows), "received": sum(r["received"] for r in rows),
           "bytes": sum(r["sent"] + r["received"] for r in rows), "seconds": round(sum(r["seconds"] for r in rows)),
           "kept_edits": len(kept), "largest_answer": max(r["received"] for r in calls)}
    compared = [r["data"]["result"]["sizes"][0] for r in calls if (r.get("data") or {}).get("kind") == "compare"
                and r["data"].get("state") == "done"]
    if kept:
        size = kept[-1]["sizes"][0]
        row |= {"times_baseline": size.get("speedup"), "low": size.get("speedup_low"), "high": size.get("speedup_high"),
                "verdict": size.get("speedup_verdict"), "best": size["best"], "median_ns": size["median_ns"],
                "load": size.get("load")}
    if compared:
        size = compared[-1]
        row |= {"times_baseline": size["ratio"], "low": size["low"], "high": size["high"], "verdict": size["verdict"],
                "load": size.get("load"), "pairs": size["pairs"]}
    return row


def slim(log, session):
    """The requests of a log with their sizes, and of the answers only what the table shows."""
    with open(session, "w") as out:
        for r in rows_of(log):
            r.pop("text", None)
            result = (r.get("data") or {}).get("result") or {}
            if not str(result.get("kept", "")).startswith("kept") and (r.get("data") or {}).get("kind") != "compare":
                r.pop("data", None)
            out.write(json.dumps(r) + "\n")


def table(player, logs):
    rows = [row_of(log) for log in logs]
    version = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
    return {"what": "an agent's sessions with the MCP endpoint alone on hlsl:0, one a kernel: tools/list, prompt and all waiting are counted",
            "command": "bench/agent/play.py table PLAYER %s/*.jsonl; each session again: bench/agent/play.py session FILE LOG"
            % os.path.dirname(logs[0]),
            "player": player,
            "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "commit": version, "cpus": os.cpu_count(), "sessions": rows}


def main():
    verb, args = sys.argv[1], sys.argv[2:]
    if verb == "begin":
        print(begin(args[0], os.path.basename(args[0]).rsplit(".", 1)[0]))
    elif verb == "call":
        print(call(args[0], args[1], {k: with_files(v) for k, v in json.loads(args[2]).items()}))
        row = row_of(args[0])
        print("--- %(calls)d calls, %(bytes)d bytes" % row, file=sys.stderr)
    elif verb == "session":
        rows = [r["params"] for r in rows_of(args[0]) if r["method"] == "tools/call" and r["params"]["name"] != "job"]
        begin(args[1], os.path.basename(args[1]).rsplit(".", 1)[0])
        for r in rows:
            call(args[1], r["name"], r["arguments"])
        print(json.dumps(row_of(args[1]), indent=1))
    elif verb == "slim":
        slim(args[0], args[1])
    elif verb == "table":
        print(json.dumps(table(args[0], args[1:]), indent=1))


main()
