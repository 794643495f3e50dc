#!/usr/bin/env python3
"""The reward of a response: its good adjectives less its bad ones. Reads and writes a line of JSON a response."""

import json
import sys

GOOD = set("good bright kind clear warm fine".split())
BAD = set("bad dark cruel dull cold rough".split())

for line in sys.stdin:
    sample = json.loads(line)
    reward = sum((word in GOOD) - (word in BAD) for word in sample["response"].split())
    print(json.dumps({"id": sample["id"], "reward": reward}), flush=True)
