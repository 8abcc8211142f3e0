#!/usr/bin/env python3
"""Whether a daemon that is killed at any instant keeps what it acknowledged.

Usage: bench/kill.py [--rounds 1000] [--seed N] [--peakd build/peakd]

In each round clients name checkpoints and ask for jobs, and a process is killed with SIGKILL at a random moment: the daemon at
work, the daemon while it starts, the daemon while it migrates an older database, a worker, or a verb. Then the database must open,
and have each tag and job that was acknowledged so far; every tenth round `peakd check` reads all of it. Prints a line of JSON; the
status is 1 if anything was lost. Workers are killed where a device runs HLSL.
"""
import argparse, collections, glob, http.client, json, os, random, re, shutil, signal, sqlite3, subprocess
import sys, tempfile, threading, time

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
KINDS = ("work", "start", "migration", "worker", "verb")


class Daemon:
    def __init__(self, peakd, db):
        self.log = open(db + ".said", "a+")
        self.log.seek(0, 2)
        self.began = self.log.tell()
        self.process = subprocess.Popen([peakd, "serve", "--listen", "127.0.0.1:0", "--db", db], stderr=self.log)

    def ready(self):
        while self.process.poll() is None:
            with open(self.log.name) as f:
                f.seek(self.began)
                found = re.search(r"http://127\.0\.0\.1:(\d+)/mcp", f.read())
            if found:
                self.port = int(found[1])
                return self
            time.sleep(0.005)
        raise SystemExit("the daemon does not start: " + open(self.log.name).read()[self.began:])

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.log.close()

    def call(self, connection, tool, **arguments):
        meta = {"io.modelcontextprotocol/" + key: value for key, value in {"protocolVersion": "2026-07-28",
                                                                           "clientCapabilities": {}}.items()}
        connection.request("POST", "/mcp", json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                           "params": {"name": tool, "arguments": arguments, "_meta": meta}}),
                           {"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
                            "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": tool})
        text = connection.getresponse().read().decode()
        result = json.loads(re.sub(r"(?s)^.*^data: ?(?=\{)", "", text, flags=re.M))["result"]
        if result.get("isError"):
            raise RuntimeError(result["content"][0]["text"])
        return result["structuredContent"]


class Bench:
    def __init__(self, o, folder):
        self.o, self.db, self.random = o, folder + "/kill.db", random.Random(o.seed)
        self.tags, self.jobs, self.lost, self.kills = [], [], [], collections.Counter()
        daemon = Daemon(o.peakd, self.db).ready()
        self.connect(daemon)
        daemon.call(self.connection, "context_create", source=open(ROOT + "/tests/daemon/scale.peak.md").read(), name="k")
        self.runs = any(d["runs"] and d["backend"] == "hlsl" for d in daemon.call(self.connection, "devices")["devices"])
        daemon.kill()

    def connect(self, daemon):
        self.connection = http.client.HTTPConnection("127.0.0.1", daemon.port, timeout=120)

    def write(self, daemon, number):
        """Until the daemon is gone. A thread of its own."""
        c, i = http.client.HTTPConnection("127.0.0.1", daemon.port, timeout=120), 0
        try:
            while True:
                name = "t%d-%d" % (number, i)
                daemon.call(c, "workflow_change", action="tag", name=name, at="k")
                self.tags.append(name)
                if i % 5 == 0 and self.runs:
                    self.jobs.append(daemon.call(c, "validate", at="k", device="hlsl:0", samples=1, wait_s=0)["job"])
                i += 1
        except (OSError, http.client.HTTPException, ValueError):
            pass

    def check(self, number):
        db = sqlite3.connect(self.db, timeout=60)
        tags, jobs = ({row[0] for row in db.execute("SELECT %s" % what)} for what in ("name FROM workflow_tag", "id FROM job"))
        db.close()
        self.lost += [t for t in self.tags if t not in tags] + [j for j in self.jobs if j not in jobs]
        if number % 10 == 9:
            found = subprocess.run([self.o.peakd, "check", "--db", self.db], capture_output=True, text=True)
            if found.returncode:
                self.lost.append(found.stdout + found.stderr)

    def migrate(self):
        """A database of an older version whose migration is killed, and which then has to become one of the newest."""
        old = self.db + ".old.db"
        for path in glob.glob(old + "*"):
            os.unlink(path)
        files = sorted(glob.glob(ROOT + "/schema/00*.sql"))
        db = sqlite3.connect(old)
        for file in files[:self.random.randrange(1, len(files))]:
            db.executescript(open(file).read())
        db.close()
        daemon = Daemon(self.o.peakd, old)
        time.sleep(self.random.uniform(0, 0.15))
        daemon.kill()
        Daemon(self.o.peakd, old).ready().kill()
        db = sqlite3.connect(old)
        is_newest = db.execute("PRAGMA user_version").fetchone()[0] == len(files)
        if not is_newest or db.execute("PRAGMA integrity_check").fetchone()[0] != "ok":
            self.lost.append("a migration")
        db.close()

    def round(self, number):
        kind = KINDS[number % len(KINDS)]
        if kind == "migration":
            self.migrate()
        elif kind == "start":
            daemon = Daemon(self.o.peakd, self.db)
            time.sleep(self.random.uniform(0, 0.15))
            daemon.kill()
        else:
            daemon = Daemon(self.o.peakd, self.db).ready()
            writer = threading.Thread(target=self.write, args=(daemon, number))
            writer.start()
            if kind == "verb":
                verb = subprocess.Popen([self.o.peakd, "workflow", "tag", "v%d" % number, "k", "--db", self.db],
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                time.sleep(self.random.uniform(0, 0.1))
                verb.kill()
                verb.wait()
            elif kind == "worker" and self.runs:
                time.sleep(self.random.uniform(0, 0.4))
                children = open("/proc/%d/task/%d/children" % (2 * (daemon.process.pid,))).read().split()
                for child in children:
                    try:
                        os.kill(int(child), signal.SIGKILL)
                    except ProcessLookupError:
                        pass # it has ended by itself
            time.sleep(self.random.uniform(0, 0.3))
            daemon.kill()
            writer.join()
        self.kills[kind] += 1
        self.check(number)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rounds", type=int, default=1000)
    options.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    options.add_argument("--peakd", default=os.path.join(ROOT, "build/peakd"))
    o = options.parse_args()
    folder = tempfile.mkdtemp(prefix="peakd-kill.")
    os.environ.update({key: folder for key in ("XDG_RUNTIME_DIR", "XDG_DATA_HOME", "XDG_CACHE_HOME")})
    os.environ.setdefault("PEAKD_SHARE", ROOT)
    began, bench = time.monotonic(), Bench(o, folder)
    for number in range(o.rounds):
        bench.round(number)
    print(json.dumps({"rounds": o.rounds, "seed": o.seed, "kills": bench.kills, "tags": len(bench.tags), "jobs": len(bench.jobs),
                      "lost": len(bench.lost), "seconds": round(time.monotonic() - began, 1), "first": bench.lost[:3]}))
    shutil.rmtree(folder)
    sys.exit(bool(bench.lost))


if __name__ == "__main__":
    main()
