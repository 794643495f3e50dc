#!/usr/bin/env python3
"""Tests that iterations of PPO and GRPO match tests/independent/replay.py, which computes them from the definitions, and
that replay.py detects deliberate mistakes.

usage: replay_test.py SOURCE_DIR DOVETAIL [ITERATIONS]   (20 by default)

Needs a Python with torch and yaml. Expects dovetail-train next to DOVETAIL.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SOURCE = Path(".")
DOVETAIL = "dovetail"
ITERATIONS = "20"


class Replay(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp(prefix="dovetail-replay-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        shutil.copytree(SOURCE / "examples/train", cls.folder / "train")
        for weights in (cls.folder / "train").glob("*/model/model.safetensors"):
            cls.widen(weights)
        cls.ppo = cls.train("tiny-ppo/job-rule.yaml", "ppo", cls.steady)
        cls.grpo = cls.train("tiny-grpo/job.yaml", "grpo", lambda text: text)

    @staticmethod
    def changed(text, before, after):
        if before not in text:
            raise AssertionError(f"the job does not contain {before}")
        return text.replace(before, after)

    @classmethod
    def steady(cls, text):
        """Returns the job with slow models and without early stop, so that rounding errors are not amplified.

        With the job's own rates, a change of the first weights by one rounding error changes some numbers of the 14th
        iteration by 1e-3 in exact arithmetic.
        """
        for before, after in (
            ("early_stop_kl: 0.001, ", ""),
            ("actor: {learning_rate: 1e-4", "actor: {learning_rate: 5e-5"),
            ("critic: {learning_rate: 5e-4", "critic: {learning_rate: 1e-4"),
        ):
            text = cls.changed(text, before, after)
        return text

    @staticmethod
    def widen(path):
        """Stores bf16 weights as fp32, because a run exports weights in the type that it loaded."""
        content = path.read_bytes()
        begin = 8 + int.from_bytes(content[:8], "little")
        header = json.loads(content[8:begin])
        for name, tensor in header.items():
            if name != "__metadata__":
                tensor["dtype"] = "F32"
                tensor["data_offsets"] = [2 * offset for offset in tensor["data_offsets"]]
        data = bytearray(2 * (len(content) - begin))
        data[2::4], data[3::4] = content[begin::2], content[begin + 1 :: 2]
        text = json.dumps(header).encode()
        path.write_bytes(len(text).to_bytes(8, "little") + text + data)

    @classmethod
    def train(cls, name, out, change):
        job = cls.folder / "train" / name
        job.write_text(change(job.read_text(encoding="utf-8")), encoding="utf-8")
        command = [DOVETAIL, "train", job, "-o", cls.folder / out, "--iterations", ITERATIONS]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise AssertionError(done.stderr[-2000:])
        return cls.folder / out

    def replay(self, run, *options):
        command = [sys.executable, SOURCE / "tests/independent/replay.py", run, *options]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
        self.assertEqual(done.stderr, "")
        return done

    def test_ppo_matches_its_definition(self):
        done = self.replay(self.ppo)
        self.assertEqual(done.returncode, 0, done.stdout[-2000:])
        self.assertIn(f"{ITERATIONS} iterations", done.stdout)

    def test_grpo_matches_its_definition(self):
        done = self.replay(self.grpo)
        self.assertEqual(done.returncode, 0, done.stdout[-2000:])
        self.assertIn(f"{ITERATIONS} iterations", done.stdout)

    def test_early_stop_matches_its_definition(self):
        shutil.copytree(SOURCE / "examples/train", self.folder / "stopping" / "train")
        self.train(
            "../stopping/train/tiny-ppo/job-rule.yaml",
            "stopped",
            lambda text: self.changed(text, "early_stop_kl: 0.001", "early_stop_kl: 0.0001"),
        )
        # The run stops early in the third iteration. Rounding in single precision grows after it.
        done = self.replay(self.folder / "stopped", "--iterations", "3")
        self.assertEqual(done.returncode, 0, done.stdout[-2000:])
        self.assertNotIn(" 0 stopped early", done.stdout)
        # A step that should have been skipped shows in the fourth iteration.
        ignored = self.replay(self.folder / "stopped", "--iterations", "4", "--plant", "stop")
        self.assertEqual(ignored.returncode, 1)

    def test_mistakes_are_found(self):
        """Mistakes: a divergence of the opposite sign, which is 0 in the first iteration, a mask that begins a token late,
        a mean of means."""
        for run, plant, iterations in ((self.ppo, "kl", 2), (self.ppo, "mask", 1), (self.ppo, "mean", 1), (self.grpo, "mean", 1)):
            done = self.replay(run, "--iterations", iterations, "--plant", plant)
            self.assertEqual(done.returncode, 1, plant)


if __name__ == "__main__":
    SOURCE, DOVETAIL, *count = Path(sys.argv[1]).resolve(), *sys.argv[2:4]
    ITERATIONS = count[0] if count else ITERATIONS
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]])
