#!/usr/bin/env python3
"""Reward of a response: 1 for 120 characters, and less for other lengths. Reads and writes one line of JSON per response."""

import json
import math
import sys

for line in sys.stdin:
    sample = json.loads(line)
    reward = math.exp(-abs(len(sample["response"]) - 120) / 120)
    print(json.dumps({"id": sample["id"], "reward": reward}), flush=True)
