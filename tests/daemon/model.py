"""A model for model.t and study.t: answers every request on the OpenAI wire with what the file named FILE holds; where FILE.bad
exists, every second new conversation begins with that one; where FILE.N exists, it is the N-th answer of a conversation; where FILE.only
holds a number, so many more conversations are answered, and then nothing. FILE.asked holds the last request."""
import http.server
import json
import os
import sys
import time

conversations = 0
left = None  # of those that FILE.only allows


class Model(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        global conversations, left
        body = self.rfile.read(int(self.headers["Content-Length"]))
        asked, path = len(body), sys.argv[1]
        with open(path + ".asked", "wb") as file:
            file.write(body)
        turn = 1 + sum(m["role"] == "assistant" for m in json.loads(body)["messages"])
        if turn == 1:
            conversations += 1
            if left is None and os.path.exists(path + ".only"):
                with open(path + ".only", encoding="utf-8") as file:
                    left = int(file.read())
            if left is not None:
                left -= 1
                while left < 0:
                    time.sleep(1)
            if conversations % 2 == 0 and os.path.exists(path + ".bad"):
                path += ".bad"
        if os.path.exists("%s.%d" % (path, turn)):
            path = "%s.%d" % (path, turn)
        with open(path, encoding="utf-8") as file:
            content = file.read()
        body = json.dumps({"id": "1", "object": "chat.completion", "model": "fake", "choices": [
            {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": content}}],
            "usage": {"prompt_tokens": asked // 4, "completion_tokens": 20, "total_tokens": asked // 4 + 20}}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


server = http.server.HTTPServer(("127.0.0.1", 0), Model)
print(server.server_port, flush=True)
server.serve_forever()
