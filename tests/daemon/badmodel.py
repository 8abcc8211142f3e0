"""Models that do what they should not, for badinput.t: the first part of the request's path says what. Prints its port. The one that dawdles
answers when there is a file of the name that was given."""
import http.server
import json
import os
import sys
import time


def chat(content, finish="stop"):
    return json.dumps({"id": "1", "object": "chat.completion", "model": "fake", "choices": [
        {"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": content}}],
        "usage": {"prompt_tokens": 3000, "completion_tokens": 20, "total_tokens": 3020}}).encode()


CODE = "```hlsl\n[numthreads(BX, 1, 1)]\nvoid scale(uint3 id : SV_DispatchThreadID)\n{\n\tif (id.x < uint(n))\n\t\tC[id.x] = %s;\n}\n```\n"
CUT = "```hlsl\n[numthreads(BX, 1, 1)]\nvoid sc"
ANSWERS = {  # status, body, bytes that are announced beyond it
    "limited": (429, b'{"error":{"message":"Rate limit reached"}}', 0),
    "down": (500, b"<html>boom \xff\xfe</html>", 0),
    "breaks": (200, chat(CUT)[:-120], 120),
    "truncates": (200, chat(CUT, "length"), 0),
    "nonsense": (200, chat("I am a teapot."), 0),
    "bytes": (200, b"\xff\xfe no JSON \xe2\x82", 0),
    "adds": (200, chat(CODE % "A[id.x] + A[id.x]"), 0),
    "dawdles": (200, chat(CODE % "A[id.x] * 2.0"), 0),
    "flood": (500, b"very long \xe2\x82\xac " * 20000, 0),
}


class Model(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        kind = self.path.split("/")[1]
        while kind == "dawdles" and not os.path.exists(sys.argv[1]):
            time.sleep(0.02)
        status, body, more = ANSWERS[kind]
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body) + more))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
print(server.server_port, flush=True)
server.serve_forever()
