"""Writes a run (runs.py) in the configuration formats of six trainers: verl, NeMo-RL, OpenRLHF, AReaL, slime, ROLL.

The keys and their units come from the trainers' own files, at the commits named on the trainers' pages in docs/. No
code is shared with Dovetail.
"""

from dialects.areal import areal
from dialects.nemo_rl import nemo_rl
from dialects.openrlhf import openrlhf
from dialects.roll import roll
from dialects.slime import slime
from dialects.verl import verl

DIALECTS = {"verl": verl, "nemo-rl": nemo_rl, "openrlhf": openrlhf, "areal": areal, "slime": slime, "roll": roll}
