#!/bin/sh
# Attacks on the real daemon: requests without end, slow headers and bodies, unread streams, thousands of connections, and too few
# descriptors. Meanwhile another client is answered soon, and the daemon's memory stays bounded.
. "$(dirname "$0")/lib.sh"
cat >"$T/attack.py" <<'PY'
import json, os, resource, socket, sys, time, urllib.request
port, pid, kinds = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}

def request(method, params, name=None):
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": META}})
    head = ("POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
            f"MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: {method}\r\n" + (f"Mcp-Name: {name}\r\n" if name else ""))
    return f"{head}Content-Length: {len(body)}\r\n\r\n{body}".encode()

def dial():
    s = socket.create_connection(("127.0.0.1", port), timeout=60)
    return s

def rss():
    return next(int(l.split()[1]) for l in open(f"/proc/{pid}/status") if l.startswith("VmRSS"))

def well_behaved():
    longest = 0
    for _ in range(5):
        begin = time.monotonic()
        s = dial()
        s.sendall(request("tools/call", {"name": "job", "arguments": {"action": "list"}}, "job"))
        answer = b""
        while b'"jobs"' not in answer:
            piece = s.recv(65536)
            assert piece, answer
            answer += piece
        s.close()
        longest = max(longest, time.monotonic() - begin)
    return longest

def headers():
    s = dial()
    s.sendall(b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nX-Slow: ")
    return s

def body():
    s = dial()
    s.sendall(b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 8000000\r\n\r\n" + b" " * 100000)
    return s

def stream():
    s = dial()
    s.sendall(request("subscriptions/listen", {"notifications": {"toolsListChanged": True}}))
    return s

def silent():
    return dial()

class flood:
    """A request without end, as fast as the daemon takes it; another one when the daemon has had enough."""
    def __init__(self):
        parent = os.getpid()
        self.pid = os.fork()
        while self.pid == 0 and os.getppid() == parent:
            try:
                s = dial()
                s.sendall(b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                          b"Transfer-Encoding: chunked\r\n\r\n")
                while os.getppid() == parent:
                    s.sendall(b"100000\r\n" + b" " * 0x100000 + b"\r\n")
            except OSError:
                pass
        if self.pid == 0:
            os._exit(0)
    def send(self, _):
        pass
    def close(self):
        os.kill(self.pid, 9)
        os.waitpid(self.pid, 0)

COUNT = {"flood": 2, "headers": 600, "body": 300, "stream": 300, "silent": min(10000, hard - 100)}
for kind in kinds:
    before, open_, slow = rss(), [], 0
    for i in range(COUNT[kind]):
        try:
            open_.append(globals()[kind]())
        except OSError:  # refused cleanly
            pass
        if i % max(1, COUNT[kind] // 3) == COUNT[kind] // 4:
            slow = max(slow, well_behaved())
    for s in open_[-100:]:
        try:
            s.send(b" ")
        except OSError:
            pass
    slow = max(slow, well_behaved())
    statuses = {}
    if kind == "stream":
        for s in open_:
            s.settimeout(60)
            try:
                status = s.recv(64)[9:12].decode()
            except OSError:
                status = "gone"
            statuses[status] = statuses.get(status, 0) + 1
    print(kind, "count", len(open_), "longest_ms", round(slow * 1000), "grew_kb", rss() - before, json.dumps(statuses), flush=True)
    for s in open_:
        s.close()
PY
serve_http "$T/a.db"
resident() # in KiB
{
	sed -n 's/^VmRSS:[^0-9]*\([0-9]*\).*/\1/p' "/proc/$daemon/status"
}
before=$(resident)
timeout 120 python3 "$T/attack.py" "$port" "$daemon" silent headers body stream flood >"$T/said" 2>"$T/err"
is $? 0 "a well-behaved client is answered during all attacks" "$(tail -3 "$T/err")"
figure() # figure KIND WHAT
{
	sed -n "s/^$1 .*$2 \([0-9-]*\).*/\1/p" "$T/said"
}
for kind in flood headers body stream silent; do
	soon "$(figure $kind longest_ms)" 2000
	ok $? "attack by $kind: a well-behaved client is answered within two seconds ($(figure $kind longest_ms) ms at most, $(figure $kind count) connections)"
	[ "$(figure $kind grew_kb)" -lt 131072 ]
	ok $? "attack by $kind: the daemon's memory stays bounded ($(figure $kind grew_kb) KB more)"
done
is_given_back()
{
	[ "$(resident)" -lt $((before + 8192)) ]
}
wait_for 30 is_given_back
ok $? "after the attacks the memory goes back to the system ($before KiB before, $(resident) after)"
has "$(grep ^stream "$T/said")" '"429": 172' "one client gets 128 streams, then status 429"
is "$(curl -s --max-time 60 "http://127.0.0.1:$port/healthz" | head -1)" "ok" "/healthz answers after the attacks"
kill "$daemon"
wait "$daemon"
is $? 0 "the attacked daemon ends with status 0"
is "$(grep -c ' error: ' "$T/log")" 0 "the attacked daemon logs no error"

# With few descriptors, the connections that are idle the longest are closed for new ones.
(ulimit -n 100 && exec "$peakd" serve --listen 127.0.0.1:0 --db "$T/few.db") 2>"$T/few" &
daemon=$!
wait_for 60 grep -q serving "$T/few"
port=$(sed -n 's,.*http://127.0.0.1:\([0-9]*\)/mcp.*,\1,p' "$T/few")
sed -i 's/"silent": .*}/"silent": 300}/' "$T/attack.py"
timeout 120 python3 "$T/attack.py" "$port" "$daemon" silent >"$T/said" 2>"$T/err"
is $? 0 "with 100 descriptors and 300 connections a well-behaved client is answered" "$(tail -3 "$T/err")"
soon "$(figure silent longest_ms)" 2000
ok $? "with 100 descriptors a well-behaved client is answered within two seconds ($(figure silent longest_ms) ms at most)"
kill "$daemon"
wait "$daemon"
is $? 0 "the daemon with 100 descriptors ends with status 0" "$(tail -3 "$T/few")"
done_testing
