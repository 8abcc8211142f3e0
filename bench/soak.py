#!/usr/bin/env python3
"""How a daemon fares under mixed MCP traffic and jobs for a while: memory, descriptors, latency and the database's growth.

Usage: bench/soak.py [--minutes 60] [--every 10] [--rate 20] [--vacuum 300] [--peakd build/peakd]

Starts a daemon with a database of its own, and calls tools over HTTP at RATE calls per second. Prints one line of JSON for every
EVERY seconds, and at the end one that says how much everything grew between the first and the last quarter. Needs a device that
runs HLSL for the jobs; without one there is only traffic. The cache of references is held to 16 MiB (PEAKD_REFERENCES_MB), since
its growth up to the limit would hide any other. Every VACUUM seconds all ended jobs but the last ten become two years old in the
database, and `peakd vacuum` deletes them beside the daemon.
"""
import argparse, http.client, json, os, re, sqlite3, statistics, subprocess, sys, tempfile, time

CONTEXT = open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tests/daemon/scale.peak.md")).read()


class Daemon:
    def __init__(self, peakd, folder):
        self.peakd, self.db, self.folder, self.cleaning = peakd, folder + "/soak.db", folder, None
        self.log = open(folder + "/log", "w+")
        self.process = subprocess.Popen([peakd, "serve", "--listen", "127.0.0.1:0", "--db", self.db], stderr=self.log)
        self.port = None
        while self.port is None and self.process.poll() is None:
            time.sleep(0.05)
            found = re.search(r"http://127\.0\.0\.1:(\d+)/mcp", open(folder + "/log").read())
            self.port = found and int(found[1])
        if self.port is None:
            sys.exit("the daemon does not start: " + open(folder + "/log").read())
        self.connection, self.number = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120), 0

    def request(self, method, name, params):
        self.number += 1
        params["_meta"] = {"io.modelcontextprotocol/" + key: value for key, value in {
            "protocolVersion": "2026-07-28", "clientCapabilities": {}, "clientInfo": {"name": "soak", "version": "1"}}.items()}
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
                   "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method}
        if name:
            headers["Mcp-Name"] = name
        body = json.dumps({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params})
        self.connection.request("POST", "/mcp", body, headers)
        text = self.connection.getresponse().read().decode()
        answer = json.loads(re.sub(r"(?s)^.*^data: ?(?=\{)", "", text, flags=re.M))
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer["result"]

    def call(self, tool, **arguments):
        return self.request("tools/call", tool, {"name": tool, "arguments": arguments}).get("structuredContent", {})

    def state(self):
        pid = self.process.pid
        resident = int(open("/proc/%d/statm" % pid).read().split()[1]) * os.sysconf("SC_PAGESIZE")
        size = sum(os.path.getsize(self.db + end) for end in ("", "-wal") if os.path.exists(self.db + end))
        return {"memory_bytes": resident, "descriptors": len(os.listdir("/proc/%d/fd" % pid)),
                "threads": len(os.listdir("/proc/%d/task" % pid)), "database_bytes": size, "load": os.getloadavg()[0]}

    def vacuum(self):
        """Begins one; what the one before printed."""
        said = self.cleaning.communicate()[0].strip() if self.cleaning else None
        with sqlite3.connect(self.db, timeout=60) as db:
            db.execute("UPDATE job SET ended_ms = ended_ms - 730 * 86400000 WHERE ended_ms IS NOT NULL"
                       " AND rowid NOT IN (SELECT rowid FROM job ORDER BY rowid DESC LIMIT 10)")
        db.close()
        self.cleaning = subprocess.Popen([self.peakd, "vacuum", "--db", self.db], stdout=subprocess.PIPE,
                                         stderr=subprocess.STDOUT, text=True)
        return said


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--minutes", type=float, default=60)
    options.add_argument("--every", type=float, default=10, help="seconds between two lines")
    options.add_argument("--rate", type=float, default=20, help="calls per second")
    options.add_argument("--vacuum", type=float, default=300, help="seconds between two deletions of old jobs")
    options.add_argument("--peakd", default=os.path.join(os.path.dirname(__file__), "../build/peakd"))
    o = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="peakd-soak.") as folder:
        os.environ.update({key: folder for key in ("XDG_RUNTIME_DIR", "XDG_DATA_HOME", "XDG_CACHE_HOME")})
        os.environ.setdefault("PEAKD_REFERENCES_MB", "16")
        os.environ.setdefault("PEAKD_SHARE", os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
        daemon = Daemon(o.peakd, folder)
        try:
            soak(daemon, o)
        finally:
            daemon.process.terminate()
            daemon.process.wait()


def soak(daemon, o):
    daemon.call("context_create", source=CONTEXT, name="soak")
    runs = any(d["runs"] and d["backend"] == "hlsl" for d in daemon.call("devices")["devices"])
    traffic = [
        lambda i: daemon.request("tools/list", None, {}),
        lambda i: daemon.call("workflow", action="log", at="soak"),
        lambda i: daemon.call("job", action="list"),
        lambda i: daemon.request("resources/read", "peak://checkpoint/soak/source", {"uri": "peak://checkpoint/soak/source"}),
        lambda i: daemon.call("workflow", action="tag", at="soak", name="t%d" % (i % 10)),
        lambda i: daemon.call("transformations"),
    ]
    began, i, lines, took, job, jobs, vacuums = time.monotonic(), 0, [], [], None, 0, 0
    while time.monotonic() - began < 60 * o.minutes:
        time.sleep(max(0, began + i / o.rate - time.monotonic()))
        start = time.monotonic()
        if runs and i % 50 == 0 and (job is None or daemon.call("job", id=job)["state"] in ("done", "failed", "cancelled")):
            job = daemon.call(("validate", "tune")[i // 50 % 2], at="soak", device="hlsl:0", wait_s=0)["job"]
            jobs += 1
        else:
            traffic[i % len(traffic)](i)
        took.append(1e3 * (time.monotonic() - start))
        i += 1
        if time.monotonic() - began >= o.vacuum * (vacuums + 1):
            said = daemon.vacuum()
            vacuums += 1
            if said:
                print(json.dumps({"seconds": round(time.monotonic() - began, 1), "vacuum": said}), flush=True)
        if time.monotonic() - began >= o.every * (len(lines) + 1):
            cuts = statistics.quantiles(took, n=100) if len(took) > 1 else took * 99
            lines.append({"seconds": round(time.monotonic() - began, 1), "calls": i, "jobs": jobs, "median_ms": round(cuts[49], 2),
                          "p99_ms": round(cuts[98], 2), **daemon.state()})
            print(json.dumps(lines[-1]), flush=True)
            took = []
    part = max(1, len(lines) // 4)
    mean = lambda some, key: statistics.mean(line[key] for line in some)
    if lines:
        print(json.dumps({"calls": i, "jobs": jobs, "grew": {
            key: round(mean(lines[-part:], key) - mean(lines[:part], key), 2)
            for key in ("memory_bytes", "descriptors", "threads", "database_bytes", "median_ms", "p99_ms")}}))


if __name__ == "__main__":
    main()
