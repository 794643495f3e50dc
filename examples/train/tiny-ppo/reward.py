#!/usr/bin/env python3
"""Reward of a response: good adjectives minus bad ones. Reads and writes one line of JSON per response."""

import json
import sys

GOOD = set("good bright kind clear warm fine".split())
BAD = set("bad dark cruel dull cold rough".split())

for line in sys.stdin:
    sample = json.loads(line)
    reward = sum((word in GOOD) - (word in BAD) for word in sample["response"].split())
    print(json.dumps({"id": sample["id"], "reward": reward}), flush=True)
