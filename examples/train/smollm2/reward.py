#!/usr/bin/env python3
"""Reward of a response: 1 for 120 characters, less the more its length differs. One line of JSON in and out per response."""

import json
import math
import sys

for line in sys.stdin:
    sample = json.loads(line)
    reward = math.exp(-abs(len(sample["response"]) - 120) / 120)
    print(json.dumps({"id": sample["id"], "reward": reward}), flush=True)
