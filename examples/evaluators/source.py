#!/usr/bin/env python3
"""An evaluator for peakd (docs/validators.md): the length of the device code, and the number of threads that it starts."""
import json
import math
import sys

question = json.load(sys.stdin)
lines = [line for line in question["context"]["regions"]["device"].splitlines() if line.strip()]
threads = sum(math.prod(l["grid"]) * math.prod(l["block"]) for l in question["launches"])
json.dump({"metrics": [
    {"name": "lines", "value": len(lines)},
    {"name": "threads", "value": threads},
    {"name": "thread_rate", "value": threads / question["measurement"]["median_ns"], "unit": "1/ns"},
]}, sys.stdout)
