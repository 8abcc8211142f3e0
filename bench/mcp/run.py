#!/usr/bin/env python3
"""Compares peakd's MCP library with the TypeScript SDK's server, side by side: `make bench-mcp` runs it.

    run.py BUILD NPM_DIR OUT.json

Both serve one tool, echo (bench/mcp/server.c, bench/mcp/sdk_server.mjs), in revision 2026-07-28 over keep-alive connections on
loopback. The same load generator sends both the same bytes: wrk for HTTP, bench/mcp/stdio_load.c for stdio. Rounds alternate
between the servers, so that other load on the machine affects both. Each figure is the median over the rounds, each ratio the
median of the rounds' ratios. The server's CPU time per call shows the same, even when other load disturbs the times. peakd itself
is measured for memory, start and idle CPU.
"""
import datetime
import http.client
import json
import os
import platform
import socket
import statistics
import subprocess
import sys
import tempfile
import time

ROUNDS = int(os.environ.get("ROUNDS", "5"))
SECONDS = float(os.environ.get("SECONDS", "3"))
WARM = 10000
build, npm, out_path = sys.argv[1:4]
here = os.path.dirname(os.path.abspath(__file__))
node = os.path.join(npm, "node_modules/node/bin/node")
sdk = os.path.join(here, "sdk_server.mjs")
commands = {
    "peakd": lambda where: [os.path.join(build, "bench/mcp/server"), where],
    "sdk_low": lambda where: [node, sdk, npm, "low", where],
    "sdk_high": lambda where: [node, sdk, npm, "high", where],
}
MEANS = {
    "peakd": "peakd's mcp library, bench/mcp/server.c, -O2; arguments checked against the tool's schema",
    "sdk_low": "@modelcontextprotocol/server, its Server with bare handlers: arguments unchecked; the SDK's fastest way",
    "floor": "a server on libmicrohttpd that gives the same answer to everything, bench/mcp/floor.c",
    "sdk_high": "@modelcontextprotocol/server, its McpServer with a zod schema: the SDK's documented way",
}


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def ask(port, text="hello"):
    """Makes one echo call. Returns the answer, or None when no server listens."""
    meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": {"name": "echo", "arguments": {"text": text}, "_meta": meta}}
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
               "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "echo"}
    try:
        c = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        c.request("POST", "/mcp", json.dumps(body), headers)
        answer = json.load(c.getresponse())
        c.close()
        return answer
    except ConnectionRefusedError:
        return None


def memory_kb(pid, key):
    with open(f"/proc/{pid}/status", encoding="ascii") as f:
        return next(int(line.split()[1]) for line in f if line.startswith(key + ":"))


def cpu_ns(pid):
    total = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/schedstat", encoding="ascii") as f:
            total += int(f.read().split()[0])
    return total


class Server:
    """A server on its own port; start_ms is the time until its first answer."""

    def __init__(self, command, port, env=None, check=True):
        self.port = port
        begin = time.monotonic()
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                        env=env)
        while (answer := ask(port)) is None:
            if self.process.poll() is not None:
                raise RuntimeError(f"{command[0]} ended")
            time.sleep(0.0005)
        self.start_ms = (time.monotonic() - begin) * 1e3
        if check and answer["result"]["content"][0]["text"] != "hello":
            raise RuntimeError(f"{command[0]}: {answer}")

    def stop(self):
        self.process.stdin.close()
        self.process.terminate()
        self.process.wait()


def wrk(server, connections, text_bytes=32):
    env = dict(os.environ, TEXT_BYTES=str(text_bytes))
    before = cpu_ns(server.process.pid)
    done = subprocess.run(["wrk", "-t1", f"-c{connections}", f"-d{SECONDS:g}s", "--timeout", "10s", "-s",
                           os.path.join(here, "call.lua"),
                           f"http://127.0.0.1:{server.port}/mcp"], env=env, capture_output=True, text=True, check=True)
    figures = json.loads(next(line for line in done.stderr.splitlines() if line.startswith("{")))
    if figures["not_2xx"]:
        raise RuntimeError(f"{figures['not_2xx']} answers were not a success")
    return figures | {"server_cpu_us_per_call": (cpu_ns(server.process.pid) - before) / 1e3 / figures["requests"]}


def median(rounds):
    return {key: round(statistics.median(r[key] for r in rounds), 3) for key in rounds[0] if key not in ("requests", "seconds")} | {
        "requests": sum(r["requests"] for r in rounds)}


def side_by_side(names, measure):
    """Calls measure(name) for each name in turn, ROUNDS times. Returns medians, and the first one's throughput over each
    other's."""
    rounds = {name: [] for name in names}
    for _ in range(ROUNDS):
        for name in names:
            rounds[name].append(measure(name))
    result = {name: median(rounds[name]) for name in names}
    for name in names[1:]:
        pairs = list(zip(rounds[names[0]], rounds[name]))
        result[f"throughput_times_{name}"] = round(statistics.median(a["per_s"] / b["per_s"] for a, b in pairs), 2)
        if "server_cpu_us_per_call" in rounds[name][0]:
            ratios = (b["server_cpu_us_per_call"] / a["server_cpu_us_per_call"] for a, b in pairs)
            result[f"cpu_per_call_{name}_times_ours"] = round(statistics.median(ratios), 2)
    print(json.dumps(result), file=sys.stderr)
    return result


def over_http():
    result = {}
    servers = {name: Server(command(str(port)), port) for name, command in commands.items() for port in [free_port()]}
    idle = {name: {"rss_kb": memory_kb(s.process.pid, "VmRSS")} for name, s in servers.items()}
    for s in servers.values():  # a just-in-time compiler is fast only after some thousand calls
        asked = 0
        for _ in range(10):
            asked += wrk(s, 16)["requests"]
            if asked > WARM:
                break
    port = free_port()
    floor = Server([os.path.join(build, "bench/mcp/floor"), str(port)], port, check=False)
    for connections in (1, 16, 256):
        names = list(commands) + ["floor"] if connections == 16 else ["peakd", "sdk_low"]
        result[f"connections_{connections}"] = side_by_side(names, lambda name, n=connections: wrk(servers.get(name, floor), n))
    floor.stop()
    result["body_1MB_connections_4"] = side_by_side(["peakd", "sdk_low"], lambda name: wrk(servers[name], 4, 1000000))
    for name, s in servers.items():
        idle[name]["rss_after_load_kb"] = memory_kb(s.process.pid, "VmRSS")
        idle[name]["rss_peak_kb"] = memory_kb(s.process.pid, "VmHWM")
    time.sleep(2)
    before = {name: cpu_ns(s.process.pid) for name, s in servers.items()}
    time.sleep(10)
    for name, s in servers.items():
        idle[name]["idle_cpu_us_per_s"] = round((cpu_ns(s.process.pid) - before[name]) / 1e3 / 10, 1)
        s.stop()
    return result, idle


def over_stdio():
    def measure(name, window, text_bytes=32):
        done = subprocess.run([os.path.join(build, "bench/mcp/stdio_load"), f"{SECONDS:g}", str(window), str(text_bytes)] +
                              commands[name]("--stdio"), capture_output=True, text=True, check=True)
        return json.loads(done.stdout)
    return {f"window_{w}": side_by_side(["peakd", "sdk_low"], lambda name, w=w: measure(name, w)) for w in (1, 16, 256)} | {
        "body_1MB_window_4": side_by_side(["peakd", "sdk_low"], lambda name: measure(name, 4, 1000000))}


def starts():
    result = {}
    for name, command in commands.items():
        times = []
        for _ in range(ROUNDS):
            port = free_port()
            server = Server(command(str(port)), port)
            times.append(server.start_ms)
            server.stop()
        result[name] = round(statistics.median(times), 1)
    return result


def peakd_itself():
    """Measures the whole daemon, with a new database each time."""
    times, figures = [], {}
    for i in range(ROUNDS):
        with tempfile.TemporaryDirectory() as folder:
            os.mkdir(folder + "/run", 0o700)
            env = dict(os.environ, XDG_RUNTIME_DIR=folder + "/run", XDG_DATA_HOME=folder, XDG_CACHE_HOME=folder)
            port = free_port()
            server = Server([os.path.join(build, "peakd"), "serve", "--listen", f"127.0.0.1:{port}", "--db", folder + "/a.db"],
                            port, env,
                            check=False)
            times.append(server.start_ms)
            if i == ROUNDS - 1:
                time.sleep(2)
                figures["rss_kb"] = memory_kb(server.process.pid, "VmRSS")
                before = cpu_ns(server.process.pid)
                time.sleep(10)
                figures["idle_cpu_us_per_s"] = round((cpu_ns(server.process.pid) - before) / 1e3 / 10, 1)
            server.stop()
    return {"start_to_first_answer_ms": round(statistics.median(times), 1)} | figures


def version(package):
    with open(os.path.join(npm, "node_modules", package, "package.json"), encoding="utf-8") as f:
        return json.load(f)["version"]


def main():
    with open("/proc/cpuinfo", encoding="utf-8") as f:
        cpu = next((line.split(":")[1].strip() for line in f if line.startswith("model name")), platform.machine())
    load = os.getloadavg()
    http_figures, processes = over_http()
    result = {
        "what": "one tools/call of echo (32 bytes; 1 MB where it says so), revision 2026-07-28, keep-alive, loopback",
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "command": f"ROUNDS={ROUNDS} SECONDS={SECONDS:g} make bench-mcp",
        "machine": {"cpu": cpu, "cores": os.cpu_count(), "shared_by": "client and server, and whatever else runs",
                    "load_before": round(load[0], 2), "load_after": None, "kernel": platform.release()},
        "versions": {"wrk": subprocess.run(["wrk", "-v"], capture_output=True, text=True).stdout.split("[")[0].strip(),
                     "node": version("node"), "@modelcontextprotocol/server": version("@modelcontextprotocol/server"),
                     "@modelcontextprotocol/node": version("@modelcontextprotocol/node")},
        "servers": MEANS,
        "http": http_figures,
        "stdio": over_stdio(),
        "start_to_first_answer_ms": starts(),
        "processes": processes,
        "peakd_serve": peakd_itself(),
    }
    result["machine"]["load_after"] = round(os.getloadavg()[0], 2)
    with open(out_path, "w", encoding="utf-8") as f:
        json.dump(result, f, indent=1)
        f.write("\n")


main()
