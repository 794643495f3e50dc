#!/usr/bin/env python3
"""The reward of a response: 1 where it is the answer, else 0. Reads and writes a line of JSON a response."""

import json
import sys

for line in sys.stdin:
    sample = json.loads(line)
    print(json.dumps({"id": sample["id"], "reward": int(sample["response"] == sample["answer"])}), flush=True)
