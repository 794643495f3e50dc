#!/usr/bin/env python3
"""Reward of a response: 1 for the right answer, else 0. Reads and writes one line of JSON per response."""

import json
import sys

for line in sys.stdin:
    sample = json.loads(line)
    print(json.dumps({"id": sample["id"], "reward": int(sample["response"] == sample["answer"])}), flush=True)
