#!/usr/bin/env python3
"""Tests that launch scripts and YAML files rewritten with the same meaning give the same job and plan.

dialects/ writes the scripts from random runs. mutations.py rewrites them with variables, arrays, functions,
heredocs, included files, parents and overrides, in another order, with other quotes, and with names of settings
from earlier versions. A mutant of the run with one change must give a different result. With --public,
text_mutations.py changes the text of public files; a rejected file must still be rejected afterwards.

usage: script_mutants.py DOVETAIL [--mutants N] [--seed N] [--keep FOLDER] [--public FOLDER [--env NAME=VALUE]...]

FOLDER has a subfolder for each repository and is not modified. Exits with 1 if a mutant gives a different result.
"""

import argparse
import collections
import json
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from dialects import DIALECTS
from dialects.configuration import CannotSay, text_of
from dialects.runs import changed_run, random_run
from mutations import Mutant, mutant_of
from text_mutations import mutant_of_text


class Refused(Exception):
    """The program's message for a rejected file."""


def told_by(dovetail, path, *options, arguments=()):
    """Job, tasks of the plan, and settings that are not modeled."""
    command = [dovetail, "import", str(path), "--gpu", "H100", "--json", *options]
    done = subprocess.run([*command, "--", *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Refused(done.stderr.strip())
    answer = json.loads(done.stdout)
    # Positions belong to the file, and keys may have older names.
    not_modelled = sorted(each["what"] for each in answer["not_modelled"])
    return answer["job"], answer["plan"]["tasks"], not_modelled


def written(folder, files):
    """Returns the path of the first file."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder / next(iter(files))


def told_of(dovetail, mutant):
    with tempfile.TemporaryDirectory() as scratch:
        path = written(Path(scratch), mutant.files)
        return told_by(dovetail, path, "--root", scratch, arguments=mutant.arguments)


def shown(mutant):
    texts = [f"--- {name}\n{text}" for name, text in mutant.files.items()]
    return "\n".join([*texts, *(["--- arguments --", *mutant.arguments] if mutant.arguments else [])])


def differences(plain, other):
    for name, one, another in zip(("job", "plan", "not modeled"), plain, other):
        if one != another:
            yield f"{name}: {one}\n and {another}"


def change_shows(dovetail, dialect, run, plain, chance):
    """Whether a mutant of another run gives a different result; None if the dialect does not support it."""
    try:
        return any(differences(plain, told_of(dovetail, mutant_of(DIALECTS[dialect](run), chance))))
    except (CannotSay, Refused):
        return None


def own_mutants(dovetail, chance, count, keep):
    """Tests this many mutants of scripts of random runs. Returns the number of failures."""
    made, wrong, changes = collections.Counter(), 0, 0
    while sum(made.values()) < count:
        dialect = list(DIALECTS)[sum(made.values()) % len(DIALECTS)]
        run = random_run(chance)
        try:
            configuration = DIALECTS[dialect](run)
        except CannotSay:
            continue
        plain = told_of(dovetail, Mutant({configuration.file: text_of(configuration)}))
        mutant = mutant_of(configuration, chance)
        made[dialect] += 1
        try:
            faults = list(differences(plain, told_of(dovetail, mutant)))
        except Refused as refused:
            faults = [f"rejected: {refused}"]
        change = change_shows(dovetail, dialect, changed_run(run, chance), plain, chance)
        changes += change is not None
        if change is False:
            faults.append("another run's mutant is the same")
        if faults:
            wrong += 1
            print(f"WRONG mutant {sum(made.values())} of {dialect}:", *faults, shown(mutant), sep="\n")
            if keep:
                written(keep / str(sum(made.values())), mutant.files)
    print(", ".join(f"{dialect} {number}" for dialect, number in sorted(made.items())))
    print(f"{changes} mutants of changed runs in addition")
    print(f"{sum(made.values())} mutants, {wrong} with a different result")
    return wrong


def outcome(dovetail, path, options):
    try:
        return told_by(dovetail, path, *options)
    except Refused as refused:
        return refused


def copied(folder, scratch):
    """Returns the texts of the repositories."""
    kept = {".sh", ".yaml", ".yml", ".json"}
    for path in folder.rglob("*"):
        if path.is_file() and not path.is_symlink() and path.suffix in kept and path.stat().st_size < 1 << 20:
            target = scratch / path.relative_to(folder)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
    return sorted(path for path in scratch.rglob("*") if path.suffix in kept - {".json"})


def public_mutants(dovetail, chance, arguments):
    """Tests mutants of the files of a folder of repositories. Returns the number of failures."""
    made, read_of, wrong = collections.Counter(), collections.Counter(), 0
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        files = copied(arguments.public, scratch)
        chance.shuffle(files)
        environment = [word for each in arguments.env for word in ("--env", each)]
        for path in files:
            repository = path.relative_to(scratch).parts[0]
            options = ["--root", str(scratch / repository), *environment]
            text = path.read_text(encoding="utf-8", errors="replace")
            plain = outcome(dovetail, path, options)
            if isinstance(plain, Refused) and "no trainer" in str(plain):
                continue
            mutant, done = mutant_of_text(path, text, chance)
            if not done:
                made["unchanged"] += 1
                continue
            path.write_text(mutant, encoding="utf-8")
            other = outcome(dovetail, path, options)
            path.write_text(text, encoding="utf-8")
            made["refused" if isinstance(plain, Refused) else "read"] += 1
            read_of[repository] += not isinstance(plain, Refused)
            made.update(done)
            if isinstance(plain, Refused) != isinstance(other, Refused):
                faults = [f"{plain}\n and {other}"]
            else:
                faults = [] if isinstance(plain, Refused) else list(differences(plain, other))
            if faults:
                wrong += 1
                print(f"WRONG {path.relative_to(scratch)} by {done}:", *faults, sep="\n")
                if arguments.keep:
                    written(arguments.keep, {str(path.relative_to(scratch)): mutant})
            if made["read"] + made["refused"] >= arguments.mutants:
                break
    print(", ".join(f"{name} {number}" for name, number in sorted(made.items())))
    print("read: " + ", ".join(f"{name} {number}" for name, number in sorted(read_of.items())))
    print(f"{made['read'] + made['refused']} mutants of public files, {wrong} with a different result")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("dovetail")
    parser.add_argument("--mutants", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="folder for mutants that differ")
    parser.add_argument("--public", type=Path, help="folder of repositories; their files are changed in a copy")
    parser.add_argument("--env", action="append", default=[], help="NAME=VALUE for these files")
    arguments = parser.parse_args()
    chance = random.Random(arguments.seed)
    if arguments.public:
        wrong = public_mutants(arguments.dovetail, chance, arguments)
    else:
        wrong = own_mutants(arguments.dovetail, chance, arguments.mutants, arguments.keep)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
