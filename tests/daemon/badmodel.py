"""Models that do what they should not, for badinput.t: the first part of the request's path says what. Prints its port. The one
that dawdles answers when there is a file of the name that was given."""
import os
import sys
import time

import wire

CODE = "```hlsl\n[numthreads(BX, 1, 1)]\nvoid scale(uint3 id : SV_DispatchThreadID)\n{\n\tif (id.x < uint(n))\n\t\tC[id.x] = %s;\n}\n```\n"
CUT = "```hlsl\n[numthreads(BX, 1, 1)]\nvoid sc"
ANSWERS = {  # status, body, bytes that are announced beyond it
    "limited": (429, b'{"error":{"message":"Rate limit reached"}}', 0),
    "down": (500, b"<html>boom \xff\xfe</html>", 0),
    "breaks": (200, wire.chat(CUT, 3000)[:-120], 120),
    "truncates": (200, wire.chat(CUT, 3000, "length"), 0),
    "nonsense": (200, wire.chat("I am a teapot.", 3000), 0),
    "bytes": (200, b"\xff\xfe no JSON \xe2\x82", 0),
    "adds": (200, wire.chat(CODE % "A[id.x] + A[id.x]", 3000), 0),
    "dawdles": (200, wire.chat(CODE % "A[id.x] * 2.0", 3000), 0),
    "flood": (500, b"very long \xe2\x82\xac " * 20000, 0),
}


def answer(path, _):
    kind = path.split("/")[1]
    while kind == "dawdles" and not os.path.exists(sys.argv[1]):
        time.sleep(0.02)
    return ANSWERS[kind]


wire.serve(answer)
