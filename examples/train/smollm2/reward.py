#!/usr/bin/env python3
"""The reward of a response: 1 for 120 characters, less the further it is away. Reads and writes a line of JSON a response."""

import json
import math
import sys

for line in sys.stdin:
    sample = json.loads(line)
    reward = math.exp(-abs(len(sample["response"]) - 120) / 120)
    print(json.dumps({"id": sample["id"], "reward": reward}), flush=True)
