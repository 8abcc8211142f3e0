"""A model for model.t and study.t: answers every request on the OpenAI wire with what the file named FILE holds; where FILE.bad
exists, every second new conversation begins with that one; where FILE.N exists, it is the N-th answer of a conversation; where
FILE.only holds a number, so many more conversations are answered, and then nothing. FILE.asked holds the last request."""
import json
import os
import sys
import time

import wire

conversations = 0
left = None  # of those that FILE.only allows


def answer(_, body):
    global conversations, left
    path = sys.argv[1]
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
        return 200, wire.chat(file.read(), len(body) // 4), 0


wire.serve(answer, threads=False)
