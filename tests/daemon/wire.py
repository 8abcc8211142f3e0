"""What the models of the tests share: answers in the OpenAI wire format, from a server that prints its port."""
import http.server
import json


def chat(content, prompt_tokens, finish="stop"):
    """The body of an answer."""
    return json.dumps({"id": "1", "object": "chat.completion", "model": "fake", "choices": [
        {"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": content}}],
        "usage": {"prompt_tokens": prompt_tokens, "completion_tokens": 20, "total_tokens": prompt_tokens + 20}}).encode()


def serve(answer, threads=True):
    """answer(path, body) gives status, body, and how many bytes are announced beyond it."""
    class Model(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            status, body, more = answer(self.path, self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body) + more))
            self.end_headers()
            try:
                self.wfile.write(body)
            except BrokenPipeError:
                pass  # a search that is killed hangs up

        def log_message(self, *args):
            pass

    server = (http.server.ThreadingHTTPServer if threads else http.server.HTTPServer)(("127.0.0.1", 0), Model)
    print(server.server_port, flush=True)
    server.serve_forever()
