"""A model for optimize.t on the OpenAI wire: a folder of NAME.when and NAME.answer; the first NAME, in order, whose words stand in the
newest question answers it. FOLDER/asked gets a line for each question; while FOLDER/NAME.hold exists, that answer waits."""
import glob
import http.server
import json
import os
import re
import sys
import time

folder = sys.argv[1]


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


class Model(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        asked = json.loads(body)["messages"][-1]["content"]
        asked = re.sub(r"#+ What was tried .*?(?=\n# |\Z)", "", asked, flags=re.S)
        name, content = "none", "I cannot help with that."
        for when in sorted(glob.glob(folder + "/*.when")):
            if read(when).strip() in asked:
                name, content = os.path.basename(when)[:-5], read(when[:-5] + ".answer")
                break
        with open(folder + "/asked", "a", encoding="utf-8") as log:
            log.write(name + "\n")
        while os.path.exists("%s/%s.hold" % (folder, name)):
            time.sleep(0.05)
        body = json.dumps({"id": "1", "object": "chat.completion", "model": "planner", "choices": [
            {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": content}}],
            "usage": {"prompt_tokens": len(body) // 4, "completion_tokens": 20, "total_tokens": len(body) // 4 + 20}}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
print(server.server_port, flush=True)
server.serve_forever()
