#!/bin/sh
# Half-done transformations: whatever peakd advises to go on with one is done here, word for word, and works: by a model, by a
# client that answers, by hand, dropped; after an error, a restart, a kill; and never by two at once.
. "$(dirname "$0")/lib.sh"
need_hlsl 1 "$T/d.db"
mkdir "$T/validators" "$T/evaluators"
export PEAKD_VALIDATORS="$T/validators" PEAKD_EVALUATORS="$T/evaluators"
# Passes everything; waits while there is a file `hold`.
printf '#!/bin/sh\ncat >/dev/null\n[ ! -e "%s/hold" ] || touch "%s/held"\nwhile [ -e "%s/hold" ]; do sleep 0.05; done\necho %s\n' \
	"$T" "$T" "$T" \
	"'{\"verdict\": \"passed\"}'" >"$T/validators/patient"
chmod +x "$T/validators/patient"
small_context >"$T/small.peak.md"
cat >"$T/client.py" <<'PYTHON'
import http.server, json, os, re, signal, subprocess, sys, threading, time

peakd, folder = sys.argv[1], sys.argv[2]
db, count = folder + "/a.db", 0
DEVICE = "```hlsl\n[numthreads(BX, 1, 1)]\nvoid scale(uint3 id : SV_DispatchThreadID)\n{\n\tif (id.x < uint(n))\n\t\tC[id.x] = %s;\n}\n```\n"
GOOD, WRONG, PROSE = DEVICE % "A[id.x] + A[id.x]", DEVICE % "A[id.x] + 1.0", "I am a teapot."
HOST = '```lua host\nlaunch("scale", {cdiv(n, BX)}, {BX}, {A, C, %s})\n```\n'

def ok(good, name, *notes):
    global count
    count += 1
    print(("" if good else "not ") + "ok %d - %s" % (count, name), flush=True)
    for note in notes if not good else ():
        print("#   " + str(note)[:1500].replace("\n", " "))

class Model(http.server.BaseHTTPRequestHandler):
    """Answers with what `script` holds, the last for ever: a text, a status, or an event that is waited for before a good answer."""
    script, asked, prompts = [], 0, []
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        Model.asked += 1
        Model.prompts.append(body["messages"])
        what = Model.script.pop(0) if len(Model.script) > 1 else Model.script[0]
        if isinstance(what, threading.Event):
            what.wait(120)
            what = GOOD
        content = json.dumps({"id": "1", "object": "chat.completion", "model": "fake", "choices": [{"index": 0, "finish_reason": "stop",
            "message": {"role": "assistant", "content": what}}], "usage": {"prompt_tokens": 9000, "completion_tokens": 9}}).encode()
        try:
            self.send_response(what if isinstance(what, int) else 200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)
        except OSError:
            pass
    def log_message(self, *a): pass

server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
threading.Thread(target=server.serve_forever, daemon=True).start()
os.environ["PEAKD_MODEL"] = "openai:http://127.0.0.1:%d/v1?model=fake&retries=0" % server.server_port

def model(*script):
    Model.script, Model.asked, Model.prompts = list(script), 0, []

class Session:
    def __init__(self):
        self.process = subprocess.Popen([peakd, "stdio", "--db", db], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.number = 0
        self.request("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}})
    def request(self, method, params):
        self.number += 1
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}) + "\n")
        self.process.stdin.flush()
        while True:
            line = self.process.stdout.readline()
            answer = json.loads(line) if line else {"id": self.number, "result": {"content": []}}
            if answer.get("id") == self.number:
                return answer
    def call(self, tool, **arguments):
        """The call's text, whether it failed, and the job's result; waited for to its end."""
        result = self.request("tools/call", {"name": tool, "arguments": arguments}).get("result", {})
        shown = result.get("structuredContent") or {}
        while shown.get("state") in ("queued", "running") and arguments.get("wait_s") != 0 and tool != "job_control":
            result = self.request("tools/call", {"name": "job", "arguments": {"action": "wait", "id": shown["job"], "wait_s": 45}})["result"]
            shown = result.get("structuredContent") or {}
        text = "".join(c.get("text", "") for c in result.get("content", []))
        return text, result.get("isError") is True, shown.get("result", shown), shown
    def close(self):
        self.process.stdin.close()
        self.process.wait(60)

s = Session()
small, made = open(folder + "/small.peak.md").read(), 0

def workflow():
    """A new workflow with the same context."""
    global made
    made += 1
    s.call("context_create", source=small, name="w%d" % made)
    return "w%d" % made

def begin(**arguments):
    """A begun transformation's id."""
    return s.call("transform_begin", **arguments)[0].split()[1].rstrip(":")

def log(name):
    return [c["by"] for c in s.call("workflow", action="log", name=name)[2]["checkpoints"]]

ADVICE = re.compile(r"it is kept as (\w+)\. To continue, call transform \(a model\), transform_begin and then transform_submit \(you answer\) or "
                    r"edit \(by hand\), with pending=\1\. To drop it, call transform with pending=\1 and discard=true")

def half_done(name, *script, sentence="Add the element to itself"):
    """A transformation that does not come to its end; its id, as the advice names it."""
    model(*script)
    text, failed, result, _ = s.call("transform", at=name, transformation=sentence, samples=2, wait_s=45)
    advice = ADVICE.search(text)
    ok(failed and advice and result.get("pending") == advice.group(1), "%s: a transformation that does not end is kept, with advice" % name, text)
    return advice.group(1) if advice else "none"

def accepted(name, title, answer, length=2):
    text, failed, result, _ = answer
    by = log(name)
    ok(not failed and result.get("checkpoint", 0) > 0 and len(by) == length, title, text, by)

def refused(part, title, answer):
    text, failed = answer[:2]
    ok(failed and part in text, title, text)

# --- after an error of the model -------------------------------------------------------------------------------------------
w = workflow()
id = half_done(w, PROSE, 500)
model(GOOD)
accepted(w, "an HTTP error: a model goes on", s.call("transform", pending=id, samples=2, wait_s=45))
ok(Model.asked == 1 and len(Model.prompts[0]) == 4, "in the conversation that there was", Model.asked)
refused("is accepted: it became checkpoint", "what is accepted is not gone on with", s.call("transform", pending=id, wait_s=45))
refused("is accepted", "nor discarded", s.call("transform", pending=id, discard=True, wait_s=45))
w = workflow()
id = half_done(w, PROSE, 500)
prompt = s.call("transform_begin", pending=id)[0]
ok("could not be used" in prompt and ", region device." in prompt.split("\n")[0], "a client that takes over gets the open question", prompt)
accepted(w, "and answers it", s.call("transform_submit", pending=id, answer=GOOD, samples=2, wait_s=45))
w = workflow()
id = half_done(w, PROSE, 500)
accepted(w, "a client may answer at once", s.call("transform_submit", pending=id, answer=GOOD, samples=2, wait_s=45))
w = workflow()
id = half_done(w, PROSE, 500)
region = GOOD.split("\n", 1)[1].rsplit("```", 1)[0]
accepted(w, "a person finishes it by hand", s.call("edit", pending=id, region="device", text=region, samples=2, wait_s=45))
w = workflow()
id = half_done(w, PROSE, 500)
text, failed, result, _ = s.call("transform", pending=id, discard=True, wait_s=45)
ok(not failed and result.get("state") == "cancelled", "it is dropped", text)
ok(result.get("summary", "").endswith("is dropped: it cannot be continued, and nothing of it was kept"), "the answer says so, and no old verdict", text)
refused("was discarded: begin a new one", "what was dropped is not gone on with", s.call("transform_begin", pending=id))
model(GOOD)
accepted(w, "a new one is begun", s.call("transform", at=w, transformation="Add the element to itself", samples=2, wait_s=45))
w = workflow()
id = half_done(w, PROSE, 500)
refused("leave at out", "another checkpoint than the one it began with is refused", s.call("transform", pending=id, at="w1", samples=2, wait_s=45))
accepted(w, "without it the transformation goes on", s.call("transform_submit", pending=id, answer=GOOD, samples=2, wait_s=45))
w = workflow()
id = half_done(w, PROSE, 500)
model(GOOD)
cli = subprocess.run([peakd, "transform", "--pending", id, "--samples", "2", "--db", db], capture_output=True, text=True)
ok(cli.returncode == 0 and len(log(w)) == 2, "the command line goes on with it", cli.stdout, cli.stderr)
id = half_done(w, PROSE, 500)
cli = subprocess.run([peakd, "transform", "--pending", id, "--discard", "--db", db], capture_output=True, text=True)
ok(cli.returncode == 0, "and drops it", cli.stdout, cli.stderr)

# --- wrong for ever --------------------------------------------------------------------------------------------------------
w = workflow()
id = half_done(w, WRONG)
model(GOOD)
accepted(w, "stuck: a model goes on", s.call("transform", pending=id, samples=2, wait_s=45))
ok(Model.asked == 1 and len(Model.prompts[0]) == 2, "with a fresh sample", Model.asked)
w = workflow()
id = half_done(w, WRONG)
accepted(w, "stuck: a client answers", s.call("transform_submit", pending=id, answer=GOOD, samples=2, wait_s=45))
w = workflow()
id = half_done(w, WRONG)
prompt = s.call("transform_begin", pending=id)[0]
ok("its results are wrong" in prompt and "A[id.x] + 1.0" in prompt, "stuck: who takes over sees what is wrong", prompt)
text, failed, result, _ = s.call("transform_submit", pending=id, answer=DEVICE % "A[id.x] + 3.0", samples=2, wait_s=45)
ok(not failed and result.get("state") == "waiting" and text.count("results are wrong") == 1 and "prompt" not in result, "a wrong answer is told so", text)
ok(result.get("outcome") == "wrong", "its outcome is not ok", result.get("outcome"))
accepted(w, "and the next one is right", s.call("transform_submit", pending=id, answer=GOOD, samples=2, wait_s=45))
w = workflow()
id = half_done(w, WRONG)
text, failed, result, _ = s.call("edit", pending=id, region="device", text=region.replace("A[id.x] + A", "A[id.x] - A"), samples=2, wait_s=45)
ok(not failed and result.get("passed") is False and result.get("state") == "waiting", "stuck: a wrong edit makes no checkpoint", text, result)
accepted(w, "a right one does", s.call("edit", pending=id, source=small.replace("2.0 * A[id.x]", "A[id.x] + A[id.x]"), samples=2, wait_s=45))
w = workflow()
begun = begin(at=w, transformation="Add the element to itself")
for i in range(12):
    text, failed, result, _ = s.call("transform_submit", pending=begun, answer=DEVICE % ("A[id.x] + %d.0" % i), samples=2, wait_s=45)
    if result.get("state") != "waiting":
        break
ok(result.get("state") == "given-up" and ADVICE.search(text), "a client that is wrong for ever is told how to go on", text, result)
model(GOOD)
accepted(w, "a model takes over from it", s.call("transform", pending=begun, samples=2, wait_s=45))

# --- a mistake in host code, and code without a model ----------------------------------------------------------------------
w = workflow()
TWO = "### device\nAdd the element to itself.\n\n### host\nLaunch it as before.\n"
model(GOOD, HOST % "q", HOST % "n")
accepted(w, "a mistake in host code is repaired", s.call("transform", at=w, transformation=TWO, samples=2, wait_s=45))
ok(Model.asked == 3 and "the host region" in Model.prompts[2][-1]["content"] and "```lua host" in Model.prompts[2][-1]["content"],
   "by a question for the host region", Model.prompts[-1][-1]["content"])
w = workflow()
NARROW = (HOST % "n").replace("launch(", 'need(n > 5000, "large enough")\nlaunch(')
model(GOOD, NARROW, HOST % "n")
accepted(w, "a domain that host code narrows is repaired", s.call("transform", at=w, transformation=TWO, samples=2, wait_s=45))
ok(Model.asked == 3 and "the host region" in Model.prompts[2][-1]["content"] and ">> need(n > 5000" in Model.prompts[2][-1]["content"],
   "by a question for the host region and its line", Model.prompts[-1][-1]["content"])
w = workflow()
text, failed, result, _ = s.call("transform_begin", at=w, transformation="---\nname: only-inserts\nsummary: s\n---\n## Pass 1: a\nexpect: valid\n"
                                 "### macros\n```hlsl insert\n#define Q 7\n```\n")
id = text.split()[1].rstrip(":")
ok("there is nothing to answer. transform with pending=%s has it judged" % id in text, "nothing to answer: said", text)
refused("transform with pending=%s has it judged" % id, "nor can it be answered", s.call("transform_submit", pending=id, answer=GOOD, wait_s=45))
model(500)
accepted(w, "transform has it judged, and asks no model", s.call("transform", pending=id, samples=2, wait_s=45))
ok(Model.asked == 0, "none was asked", Model.asked)

# --- cancelled, restarted, killed ------------------------------------------------------------------------------------------
def running(name, *script):
    """A job that waits for its model's second answer."""
    hold = threading.Event()
    model(*script, hold)
    job = s.call("transform", at=name, transformation="Add the element to itself", samples=2, wait_s=0)[3]["job"]
    while Model.asked < len(script) + 1:
        time.sleep(0.02)
    return job, hold

def daemon():
    return int(open(db + ".lock").read().split()[0])

def end_daemon(how):
    """The daemon, and the session that it takes with it; a new one begins with the next call."""
    global s
    pid = daemon()
    os.kill(pid, how)
    s.close()
    while os.path.exists("/proc/%d" % pid) and " Z " not in open("/proc/%d/stat" % pid).read():
        time.sleep(0.02)
    s = Session()

w = workflow()
job, hold = running(w, PROSE)
s.call("job_control", action="cancel", id=job)
text, failed, result, shown = s.call("job", action="wait", id=job, wait_s=45)
advice = ADVICE.search(shown.get("error", ""))
ok(shown.get("state") == "cancelled" and advice and ADVICE.search(text), "a cancelled transformation is kept, with advice", text, shown)
hold.set()
model(GOOD)
accepted(w, "and can be gone on with", s.call("transform", pending=advice.group(1), samples=2, wait_s=45))
w = workflow()
id = half_done(w, PROSE, 500)
end_daemon(signal.SIGTERM)
model(GOOD)
accepted(w, "after a restart a model goes on", s.call("transform", pending=id, samples=2, wait_s=45))
for how, words in ((signal.SIGKILL, "killed"), (signal.SIGTERM, "ended")):
    w = workflow()
    job, hold = running(w, PROSE)
    end_daemon(how)
    hold.set()
    text = s.call("job", action="get", id=job, wait_s=0)[0]
    ok('job_control with action "resume" runs it again' in text, "a daemon that was %s leaves the job interrupted, with advice" % words, text)
    model(GOOD)
    s.call("job_control", action="resume", id=job)
    accepted(w, "resume goes on where it was %s" % words, s.call("job", action="wait", id=job, wait_s=45))
    ok(Model.asked == 1 and len(Model.prompts[0]) == 4, "behind the answer that was kept", Model.asked)

# --- two at once -----------------------------------------------------------------------------------------------------------
w = workflow()
id = half_done(w, PROSE, 500)
hold = threading.Event()
model(hold)
job = s.call("transform", pending=id, samples=2, wait_s=0)[3]["job"]
while Model.asked < 1:
    time.sleep(0.02)
busy = "job %s works on transformation %s: wait for it (job with action wait), or cancel it" % (job, id)
refused(busy, "two at once: the second is told who works on it", s.call("transform", pending=id, samples=2, wait_s=45))
refused(busy, "so is a client that answers", s.call("transform_submit", pending=id, answer=GOOD, wait_s=45))
refused(busy, "a person who edits", s.call("edit", pending=id, region="device", text=region, wait_s=45))
refused(busy, "and who takes over or drops it", s.call("transform_begin", pending=id))
hold.set()
accepted(w, "waiting for it helps", s.call("job", action="wait", id=job, wait_s=45))
w = workflow()
id = half_done(w, PROSE, 500)
hold = threading.Event()
model(hold)
job = s.call("transform", pending=id, samples=2, wait_s=0)[3]["job"]
while Model.asked < 1:
    time.sleep(0.02)
s.call("job_control", action="cancel", id=job)
s.call("job", action="wait", id=job, wait_s=45)
accepted(w, "and so does cancelling it", s.call("transform_submit", pending=id, answer=GOOD, samples=2, wait_s=45))
hold.set()
w = workflow()
id = half_done(w, PROSE, 500)
answers, sessions = [], [Session(), Session()]
threads = [threading.Thread(target=lambda c: answers.append(c.call("transform_submit", pending=id, answer=GOOD, samples=2, wait_s=45)), args=(c,))
           for c in sessions]
[t.start() for t in threads]
[t.join() for t in threads]
ok(sorted(a[1] for a in answers) == [False, True] and log(w) == log("w1"), "of two equal answers one is taken", [a[0] for a in answers], log(w))
[c.close() for c in sessions]

# --- a verdict that does not come ------------------------------------------------------------------------------------------
def hold_verdicts():
    open(folder + "/hold", "w").close()
    if os.path.exists(folder + "/held"):
        os.remove(folder + "/held")

def cancel_held(job):
    while not os.path.exists(folder + "/held"):
        time.sleep(0.02)
    s.call("job_control", action="cancel", id=job)
    os.remove(folder + "/hold")
    return s.call("job", action="wait", id=job, wait_s=45)

w = workflow()
id = half_done(w, PROSE, 500)
hold_verdicts()
job = s.call("transform_submit", pending=id, answer=GOOD, samples=2, wait_s=0)[3]["job"]
shown = cancel_held(job)[3]
ok(shown.get("state") == "cancelled" and "the answer was not kept: submit it again" in shown.get("error", ""), "an answer without a verdict is not kept", shown)
accepted(w, "and is submitted again", s.call("transform_submit", pending=id, answer=GOOD, samples=2, wait_s=45))
w = workflow()
hold_verdicts()
model(GOOD)
job = s.call("transform", at=w, transformation="Add the element to itself", samples=2, wait_s=0)[3]["job"]
shown = cancel_held(job)[3]
advice = ADVICE.search(shown.get("error", ""))
ok(advice, "a pass without a verdict is kept", shown)
refused("transform with pending=%s has it judged" % advice.group(1), "it takes no answer", s.call("transform_submit", pending=advice.group(1), answer=GOOD, wait_s=45))
model(500)
accepted(w, "transform has it judged", s.call("transform", pending=advice.group(1), samples=2, wait_s=45))
ok(Model.asked == 0, "without asking again", Model.asked)
s.close()
print("1..%d" % count)
PYTHON
timeout 550 python3 "$T/client.py" "$peakd" "$T"
