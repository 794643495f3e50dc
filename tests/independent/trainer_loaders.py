#!/usr/bin/env python3
"""Tests exported plans against the trainers themselves: their loaders must accept each configuration, and the
loaded result must equal the plan.

Random configurations of verl (FSDP and Megatron), OpenRLHF, NeMo-RL (DTensor and Megatron) and AReaL (FSDP and
Megatron) are planned. Each plan is exported over the configuration, as a whole file of the job, and over the
configuration with the other backend. verl's own Hydra configuration is composed with the export and checked by its
validation. OpenRLHF's own parser reads its flags, followed by its checks. NeMo-RL's files are merged by its loader
or by the same rule. AReaL's own loader creates its dataclasses. Layouts, budgets, offload and engine settings are
then derived from the loaded result, by rules that share no code with Dovetail, and compared with the plan. Nothing
is trained, so no GPU is needed.

usage: trainer_loaders.py DOVETAIL VERL OPENRLHF AREAL [--nemo-rl FOLDER] [--plans N] [--seed N]

VERL, OPENRLHF and AREAL are folders with the packages of these names. Needs a Python with the imports of verl's
configuration and of AReaL (listed in tools/check). Exits with 1 if anything is wrong.
"""

import argparse
import json
import os
import random
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from trainer_loading import Areal, NemoRl, OpenRlhf, Verl, demanded_by, workload

# No plan fits.
INFEASIBLE = 3


def run(command):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    if done.returncode not in (0, INFEASIBLE):
        raise SystemExit(f"{shlex.join(map(str, command))}\n{done.stderr}")
    return None if done.returncode == INFEASIBLE else done.stdout


def differences(trainer, exported, plan, folder, origin):
    """Returns the differences between the trainer's loaded configuration and the plan that it was exported from."""
    try:
        loaded = trainer.load(exported, folder)
    except (Exception, SystemExit) as refused:  # any error of the trainer
        return [f"rejected: {type(refused).__name__}: {refused}\n{origin}\n{exported}"]
    tasks = {task["task"]: task for task in json.loads(plan.read_text(encoding="utf-8"))["tasks"]}
    expected = trainer.expected(loaded)
    wrong = [f"{name}: {fault}" for name, task in expected.items() for fault in task.differences(tasks[name])]
    return [f"{wrong}\n{origin}\n{exported}"] if wrong else []


def check(dovetail, trainer, chance, folder):
    """Returns the faults of one random plan, or None if no plan fits."""
    of = workload(chance)
    name, text = trainer.base(of, chance)
    base, plan, wanted = folder / name, folder / "plan.json", ["--gpu", chance.choice(["H100", "H200", "A100-80"])]
    base.write_text(text, encoding="utf-8")
    if isinstance(trainer, NemoRl):
        of.critic = False
        shutil.copy(trainer.defaults / "grpo.yaml", folder)
    search = [dovetail, "plan", base, *wanted, "--iterations", "2000", "--simulate", "0", "-o", plan]
    if run(search) is None:
        return None
    to = ["--to", trainer.to, *(["--format", "args"] if trainer.to == "verl" else [])]
    exported = run([dovetail, "export", plan, "--base", base, *wanted, *to, "-o", "-"])
    if trainer.to == "verl":
        exported = [word for line in exported.splitlines() for word in shlex.split(line, comments=True)]
    return differences(trainer, exported, plan, folder, text)


def switched(dovetail, trainer, chance, folder):
    """Returns the faults of a plan for the trainer's other backend; None if no plan fits or the backend rejects the
    job."""
    of = workload(chance)
    name, text = trainer.base(of, chance)
    base, plan, tuned = folder / name, folder / "plan.json", folder / f"other{Path(name).suffix}"
    base.write_text(text, encoding="utf-8")
    if isinstance(trainer, NemoRl):
        of.critic = False
        shutil.copy(trainer.defaults / "grpo.yaml", folder)
    allowed = ["--gpu", chance.choice(["H100", "H200", "A100-80"]), "--allow", "backend"]
    search = [dovetail, "plan", base, *allowed, "--way", "2", "--iterations", "2000", "--simulate", "0", "-o", plan]
    done = subprocess.run(list(map(str, search)), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return None if done.returncode == INFEASIBLE or "--way 2: " in done.stderr else [done.stderr]
    run([dovetail, "export", plan, "--base", base, *allowed, "-o", tuned])
    exported = tuned.read_text(encoding="utf-8")
    other = trainer.other()
    if trainer.to == "verl":
        other.words = words_of_script(exported, folder)[3:]
        exported = []
    return differences(other, exported, plan, folder, text)


def words_of_script(script, folder):
    """Returns the command that an exported script starts, using a python3 that prints its arguments."""
    programs = folder / "programs"
    programs.mkdir()
    stand_in = programs / "python3"
    stand_in.write_text('#!/bin/bash\nprintf "%s\\0" python3 "$@" >"$ARGUMENTS"\n', encoding="utf-8")
    stand_in.chmod(0o755)
    (folder / "whole.sh").write_text(script, encoding="utf-8")
    arguments = folder / "arguments"
    environment = {
        **os.environ,
        **demanded_by(script),
        "PATH": f"{programs}:{os.environ['PATH']}",
        "ARGUMENTS": str(arguments),
    }
    subprocess.run(["bash", folder / "whole.sh"], env=environment, check=True, capture_output=True)
    return arguments.read_text(encoding="utf-8").split("\0")[:-1]


def whole(dovetail, trainer, chance, folder):
    """Returns the faults of a whole file of a random job and its plan; None if no plan fits or the trainer rejects
    the job."""
    of = workload(chance)
    name, text = trainer.base(of, chance)
    base, job, plan = folder / name, folder / "job.yaml", folder / "plan.json"
    base.write_text(text, encoding="utf-8")
    if isinstance(trainer, NemoRl):
        shutil.copy(trainer.defaults / "grpo.yaml", folder)
        shutil.copy(trainer.defaults / "grpo.yaml", folder / "grpo_math_1B.yaml")
    run([dovetail, "import", base, "-o", job])
    if run([dovetail, "plan", job, "--iterations", "2000", "--simulate", "0", "-o", plan]) is None:
        return None
    command = [dovetail, "export", plan, "--job", job, "--to", trainer.to, "-o", "-"]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return None if "accepted" in done.stderr else [done.stderr]
    exported = done.stdout
    if trainer.to in ("verl", "openrlhf"):
        words = words_of_script(exported, folder)
        # Skip the module's name.
        exported = words[3:] if trainer.to == "verl" else shlex.join(words[1:])
        if trainer.to == "verl":
            trainer.words = [word for word in exported if not word.startswith("--config-name")]
            exported = []
    return differences(trainer, exported, plan, folder, f"whole file of {job.read_text(encoding='utf-8')}")


def absolute(text):
    return Path(text).resolve()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("dovetail")
    parser.add_argument("verl", type=absolute)
    parser.add_argument("openrlhf", type=absolute)
    parser.add_argument("areal", type=absolute)
    parser.add_argument(
        "--nemo-rl", type=absolute, metavar="FOLDER", help="folder of NeMo-RL's repository, to use its own loader"
    )
    parser.add_argument("--plans", type=int, default=30, metavar="N", help="number of plans per trainer")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    sys.path.insert(0, str(arguments.verl))
    chance = random.Random(arguments.seed)
    failures = 0
    defaults = Path(__file__).resolve().parents[2] / "src/trainers/nemo_rl/defaults"
    trainers = [Verl(arguments.verl, False), Verl(arguments.verl, True), OpenRlhf(arguments.openrlhf)]
    trainers += [NemoRl(arguments.nemo_rl, defaults, megatron) for megatron in (False, True)]
    trainers += [Areal(arguments.areal, backend) for backend in ("fsdp", "megatron")]
    for trainer in trainers:
        kinds = [("plans", check, arguments.plans), ("whole files", whole, arguments.plans // 3)]
        kinds += [("switched", switched, arguments.plans // 3)] if hasattr(trainer, "other") else []
        for kind, look, count in kinds:
            checked = infeasible = 0
            while checked < count:
                with tempfile.TemporaryDirectory() as folder:
                    wrong = look(arguments.dovetail, trainer, chance, Path(folder))
                if wrong is None:
                    infeasible += 1
                    continue
                checked += 1
                failures += len(wrong)
                for each in wrong:
                    print(f"WRONG {trainer.name}: {each}")
            print(f"{trainer.name}: {checked} {kind}, {infeasible} more without a plan", flush=True)
    print(f"{failures} wrong")
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main())
