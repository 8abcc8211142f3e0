"""A stand-in for a model that writes the first kernel of import.t's problem: FILE.device answers device steps, FILE.host host
steps."""
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import wire


def answer(_, body):
    said = json.loads(body)["messages"]
    with open(sys.argv[1] + ".asked", "wb") as file:
        file.write(body)
    asked = next(m["content"] for m in said if m["role"] == "user")
    part = "device" if "The whole new device region" in asked else "host"
    if part == "device" and len(said) > 2:
        part = "repaired"
    with open(f"{sys.argv[1]}.{part}", encoding="utf-8") as file:
        return 200, wire.chat(file.read(), len(body) // 4), 0


wire.serve(answer, threads=False)
