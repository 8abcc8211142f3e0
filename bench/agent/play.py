#!/usr/bin/env python3
"""Plays MCP calls over HTTP and counts what a client pays for them: calls, bytes sent, bytes received.

  play.py --log FILE tool NAME 'JSON'         one tools/call; prints the text of the answer, as an agent reads it. @FILE in a string
                                              argument stands for that file's text
  play.py --log FILE list | prompts | prompt NAME 'JSON' | resource URI
  play.py --log FILE replay FILE              makes the same requests again
  play.py --log FILE sum                      calls, bytes and tools used

Each request and its size is one line of the log. The endpoint is PEAKD_URL (http://127.0.0.1:7325/mcp)."""
import json, os, sys, time, urllib.request

URL = os.environ.get("PEAKD_URL", "http://127.0.0.1:7325/mcp")
VERSION = "2026-07-28"


def post(method, params, name=None):
    """One request: the result, bytes sent and bytes received (bodies only)."""
    meta = {"io.modelcontextprotocol/protocolVersion": VERSION, "io.modelcontextprotocol/clientCapabilities": {}}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": meta}}).encode()
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
               "MCP-Protocol-Version": VERSION, "Mcp-Method": method}
    if name:
        headers["Mcp-Name"] = name
    with urllib.request.urlopen(urllib.request.Request(URL, body, headers), timeout=120) as answer:
        raw = answer.read()
    for line in raw.decode().splitlines():
        line = line[6:] if line.startswith("data: ") else line
        if line.startswith("{") and ("result" in line or "error" in line):
            message = json.loads(line)
            if "id" in message:
                return message, len(body), len(raw)
    raise SystemExit("no answer in: " + raw.decode()[:500])


def with_files(value):
    if isinstance(value, dict):
        return {k: with_files(v) for k, v in value.items()}
    if isinstance(value, str) and value.startswith("@"):
        return open(value[1:]).read()
    return value


def words(method, message):
    """What an agent reads of an answer."""
    if "error" in message:
        return "ERROR " + json.dumps(message["error"])
    result = message["result"]
    if method == "tools/call":
        text = "\n".join(c.get("text", "") for c in result.get("content", []))
        return ("isError: " if result.get("isError") else "") + text
    if method == "prompts/get":
        return "\n".join(m["content"]["text"] for m in result["messages"])
    if method == "resources/read":
        return "\n".join(c.get("text", "") for c in result["contents"])
    return json.dumps(result, indent=1)


def request(log, method, params, name=None):
    begun = time.time()
    message, sent, received = post(method, params, name)
    text = words(method, message)
    with open(log, "a") as out:
        out.write(json.dumps({"method": method, "params": params, "name": name, "sent": sent, "received": received,
                              "seconds": round(time.time() - begun, 2), "text": text, "structured": len(json.dumps(
                                  message.get("result", {}).get("structuredContent", None)))}) + "\n")
    return text


def main():
    args = sys.argv[1:]
    log = "/dev/null"
    if args and args[0] == "--log":
        log, args = args[1], args[2:]
    verb = args[0]
    if verb == "tool":
        print(request(log, "tools/call", {"name": args[1], "arguments": with_files(json.loads(args[2]))}, args[1]))
    elif verb == "list":
        print(request(log, "tools/list", {}))
    elif verb == "prompts":
        print(request(log, "prompts/list", {}))
    elif verb == "prompt":
        print(request(log, "prompts/get", {"name": args[1], "arguments": json.loads(args[2])}, args[1]))
    elif verb == "resource":
        print(request(log, "resources/read", {"uri": args[1]}, args[1]))
    elif verb == "replay":
        for line in open(args[1]):
            row = json.loads(line)
            print(request(log, row["method"], row["params"], row["name"]))
    rows = [json.loads(line) for line in open(log)] if log != "/dev/null" else []
    calls = [r for r in rows if r["method"] == "tools/call"]
    print("--- %d calls, %d requests, %d bytes sent, %d received" % (
        len(calls), len(rows), sum(r["sent"] for r in rows), sum(r["received"] for r in rows)), file=sys.stderr)


main()
