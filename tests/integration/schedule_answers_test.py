#!/usr/bin/env python3
"""Tests that the --json output of commands about schedules satisfies the JSON Schema of its format, and that
damaged answers do not.

usage: schedule_answers_test.py SOURCE_DIR DOVETAIL
"""

import json
import re
import unittest
from pathlib import Path

from documents import INSTANCES, REMOVED, SOURCE, Documents, changed, dovetail, validator_of


class ScheduleAnswers(Documents):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.examples = [str(path) for path in sorted((SOURCE / "examples").glob("*.yaml"))]
        # Devices without ops, activations of 0 and a name with non-ASCII characters.
        cls.idle_device = cls.path("idle.yaml")
        Path(cls.idle_device).write_text(
            "format: dovetail/pipeline-problem@1\ntime_unit: us\ndevices: 3\nmodels:\n"
            "  - {name: modèle, microbatches: 2, devices: [0, 2], forward: 0.5, backward: 1.25, activation: 0}\n",
            encoding="utf-8",
        )

    def example(self, name):
        return str(SOURCE / "examples" / f"{name}.yaml")

    def schedule(self, problem):
        path = self.path("schedule.json")
        dovetail("schedule", problem, "--solver", "list", "-o", path)
        return path

    def report(self, *arguments):
        """Returns the data in the page that `dovetail report` writes for the files."""
        page = dovetail("report", *arguments, "-o", "-")
        data = json.loads(
            re.search(r'<script type="application/json" id="dovetail-report">(.*?)</script>', page, re.S).group(1)
        )
        self.validator("report").validate(data)
        return data

    def test_schedule(self):
        for problem in self.examples + INSTANCES + [self.idle_device]:
            self.answer("schedule-report", "schedule", problem, "--solver", "list")
        two_models = self.example("two-models")
        searched = self.answer(
            "schedule-report", "schedule", two_models, "--iterations", "50", "-o", self.path("two.csv")
        )
        self.assertEqual(len(searched["written"]), 2)
        self.answer(
            "schedule-report",
            "schedule",
            self.example("three-models"),
            "--iterations",
            "50",
            "--chains",
            "1",
            "-o",
            self.path("three.svg"),
        )
        self.answer("schedule-report", "schedule", two_models, "--solver", "annealing", "--time-limit", "50ms")
        self.answer("schedule-report", "schedule", self.example("v-shape"), "--solver", "zb-v")
        self.answer("schedule-report", "schedule", self.idle_device, "--iterations", "50")  # stopped by the bound
        other = self.answer("schedule-report", "schedule", "exp2", "--solver", "1f1b+")
        self.assertIn("other_layout", other)
        self.assert_refused("schedule-report", other)
        beside = self.answer("schedule-report", "schedule", "exp2", "--solver", "greedy", "-o", "-")
        self.validator("schedule").validate(beside["output"])
        self.assert_refused("schedule-report", beside, ("output", 5))
        infeasible = self.answer(
            "schedule-report", "schedule", "exp2", "--solver", "greedy", "--memory-cap", "3", code=3
        )
        self.assert_refused(
            "schedule-report",
            searched,
            ("makespan", "372"),
            ("makespan", None),
            ("bounds", "makespan", None),
            ("fits", False),
            ("excess", infeasible["excess"]),
            ("solver", "chains", REMOVED),
            ("solver", "auto"),
            ("stopped_by", "boredom"),
            ("time_unit", "hour"),
            ("bubbles", 1.5),
            ("peak_activation_by_device", []),
            ("timing", {}),
            ("timing", "minutes", 1),
            ("written", "two.csv"),
            ("optimal", "makespan", 1),
        )
        self.assert_refused(
            "schedule-report",
            infeasible,
            ("excess", []),
            ("excess", 0, "held", REMOVED),
            ("excess", 0, "excess", 0),
            ("fits", True),
            ("written", ["plan.json"]),
        )

    def test_replay(self):
        problem = self.example("two-models")
        schedule = self.schedule(problem)
        for source, kind in [(problem, "problem"), (schedule, "schedule")]:
            replay = self.answer("replay", "train", "--stub", source, "--tick", "100us", "--plan-iterations", "10")
            self.assertEqual([replay["kind"], replay["ranks"], replay["ops"]], [kind, 4, 128])
            self.assertGreaterEqual(replay["measured_seconds"], replay["planned_seconds"])
            self.assertGreater(replay["overlap"]["measured_seconds"], 0)
        self.assert_refused(
            "replay",
            replay,
            ("kind", "trace"),
            ("transport", "mail"),
            ("ranks", 0),
            ("seconds_per_unit", 0),
            ("executor_share", 1),
            ("overlap", "planned_seconds", -1),
            ("latest", "rank", -1),
        )

    def test_schedule_by_a_deadline(self):
        least = self.answer("schedule-report", "schedule", "exp2", "--objective", "memory", "--iterations", "50")
        self.assert_refused("schedule-report", least, ("bounds", "makespan_at_peak", None), ("objective", "makespan"))
        met = self.answer(
            "schedule-report", "schedule", "exp2", "--deadline", "500", "--robust", "20", "--iterations", "50"
        )
        self.assert_refused(
            "schedule-report",
            met,
            ("deadline", REMOVED),
            ("meets_deadline", REMOVED),
            ("robust", 0),
            ("robust", 101),
            ("objective", "pareto"),
            ("varied", "by", 0.1),
            ("smallest_capacity", [2]),
            ("bounds", "makespan_at_peak", 225),
        )
        missed = self.answer("schedule-report", "schedule", "exp2", "--deadline", "230", "--solver", "1f1b", code=3)
        self.assert_refused("schedule-report", missed, ("written", ["plan.json"]))
        late = self.answer("schedule-report", "schedule", "exp2", "--deadline", "9", code=3)
        self.assert_refused("schedule-report", late, ("impossible", False), ("meets_deadline", True))
        both = self.answer("schedule-report", "schedule", "exp2", "--deadline", "9", "--memory-cap", "1", code=3)
        self.assert_refused("schedule-report", both, ("smallest_capacity", []))

    def test_pareto(self):
        front = ["--objective", "pareto", "--iterations", "50"]
        for problem in [self.example(name) for name in ("two-models", "split-backward", "minibatches", "capacity")] + [
            self.idle_device
        ]:
            report = self.answer("pareto-report", "schedule", problem, *front, "-o", self.path("front.json"))
            written = json.loads(Path(self.path("front.json")).read_text(encoding="utf-8"))
            with self.subTest(problem=problem):
                self.validator("pareto").validate(written)
                self.assertEqual(len(report["front"]), len(written["front"]))
        self.validator("pareto").validate(self.answer("pareto-report", "schedule", "exp2", *front, "-o", "-")["output"])
        report = self.answer("pareto-report", "schedule", "exp2", *front, "-o", self.path("front.json"))
        written = json.loads(Path(self.path("front.json")).read_text(encoding="utf-8"))
        damages = [
            ("front", []),
            ("front", 0, "bounds", "makespan", REMOVED),
            ("front", 0, "optimal", "makespan", 1),
            ("bounds", {}),
            ("peak_bound", []),
            ("constructions", 0, "fits", "yes"),
            ("stopped_by", "boredom"),
            ("time_unit", "hour"),
        ]
        self.assert_refused("pareto-report", report, *damages)
        for damage in [
            *damages,
            ("front", 0, "schedule", REMOVED),
            ("front", 0, "schedule", {}),
            ("front", 0, "schedule", "devices", {}),
            ("format", "dovetail/pareto@2"),
            ("colour", "red"),
        ]:
            with self.subTest(damage=damage):
                self.assertFalse(self.validator("pareto").is_valid(changed(written, damage)))

    def test_diff(self):
        for problem in self.examples + [self.idle_device]:
            other = self.path("other.json")
            dovetail("schedule", problem, "--solver", "one-at-a-time", "-o", other)
            difference = self.answer("diff", "diff", self.schedule(problem), other)
        equal = self.answer("diff", "diff", other, other)
        self.assertTrue(equal["equal"])
        dovetail("schedule", self.example("two-models"), "--solver", "gpipe", "-o", other)
        difference = self.answer("diff", "diff", self.schedule(self.example("two-models")), other)
        self.assertFalse(difference["equal"])
        self.assert_refused(
            "diff",
            difference,
            ("equal", True),
            ("parting", None),
            ("parting", "a", "op", "X"),
            ("moves", 0, "a", REMOVED),
            ("devices", []),
            ("devices", 0, "a", "idle", "lunch", 1),
            ("change", "makespan", "-3"),
            ("a", "file", ""),
        )
        self.assert_refused("diff", equal, ("parting", {"device": 0, "a": None, "b": None}), ("same_order", False))

    def test_compare(self):
        for problem in self.examples + INSTANCES + [self.idle_device]:
            self.answer("compare", "compare", problem, "--all", "--iterations", "50", "--draws", "20")
        dovetail("compare", self.example("v-shape"), "--solver", "chimera", "--json", code=2)
        unfit = self.answer(
            "compare",
            "compare",
            "exp2",
            "--solver",
            "greedy",
            "--solver",
            "chimera",
            "--memory-cap",
            "3",
            "--draws",
            "1",
        )
        self.answer(
            "compare",
            "compare",
            "exp2",
            "--solver",
            "auto",
            "--iterations",
            "50",
            "--draws",
            "1",
            "--objective",
            "memory",
            "--robust",
            "10",
        )
        self.assert_refused(
            "compare",
            unfit,
            ("objective", "pareto"),
            ("robust", 0),
            ("baseline", {}),
            ("baseline", "1f1b"),
            ("draws", 0),
            ("draws", 1.5),
            ("interrupted", None),
            ("bounds", "makespan", REMOVED),
            ("timing", "seconds", "greedy", "1"),
            ("rows", {}),
            ("rows", 0, "made_by", {}),
            ("rows", 0, "excess", REMOVED),
            ("rows", 0, "fits", True),
            ("rows", 0, "varied", []),
            ("rows", 0, "varied", 0, "by", 0.2),
            ("rows", 0, "varied", 1, "median", REMOVED),
            ("rows", 0, "speed_up", "-"),
            ("rows", 0, "gap", -0.1),
            ("not_applicable", 0, "why", REMOVED),
        )

    def test_check(self):
        for problem in self.examples + [self.idle_device]:
            self.answer("check", "check", self.schedule(problem))
        data = SOURCE / "tests" / "data"
        trace = self.answer("check", "check", str(data / "flexfusion" / "trace_exp2.txt"))
        self.assertGreater(len(trace["notes"]), 0)
        self.answer("check", "check", str(data / "pytorch" / "interleaved_2rank_4stage_8mb.csv"))
        self.assert_refused(
            "check",
            trace,
            ("valid", False),
            ("valid", 1),
            ("violation", {"message": "none"}),
            ("notes", [1]),
            ("devices", 0, "idle", "drain", REMOVED),
            ("devices", 0, "idle", "lunch", 1),
            ("devices", 0, "busy", "1"),
            ("devices", []),
            ("idle", 0, "cause", "lunch"),
            ("idle", 0, "end", 0),
            ("idle", 0, "awaits", 3),
        )

    def test_check_of_false_claims(self):
        schedule = json.loads(Path(self.schedule(self.example("two-models"))).read_text(encoding="utf-8"))
        high = changed(schedule, ("bounds", "makespan", schedule["makespan"] + 1))
        answer = self.answer("check", "check", "-", code=1, stdin=json.dumps(high))
        self.assertEqual(answer["claims"][0]["verdict"], "false")
        self.assert_refused(
            "check",
            answer,
            ("claims", []),
            ("claims", 0, "verdict", "true"),
            ("claims", 0, "key", "makespan"),
            ("claims", 0, "reason", REMOVED),
        )

    def test_check_of_invalid_schedules(self):
        schedule = json.loads(Path(self.schedule(self.example("two-models"))).read_text(encoding="utf-8"))
        start, end = schedule["columns"].index("start"), schedule["columns"].index("end")
        early = [
            ("devices", 0, 1, start, 0),
            ("devices", 0, 1, end, schedule["devices"][0][1][end] - schedule["devices"][0][1][start]),
        ]
        damages = {
            "place": early,
            "claim": [("makespan", 1)],
            "op missing": [("devices", 0, 0, REMOVED)],
            "capacity": [("problem", "memory", {"capacity": 2})],
        }
        answers = {}
        for name, steps in damages.items():
            answers[name] = self.answer("check", "check", "-", code=1, stdin=json.dumps(changed(schedule, *steps)))
            self.assertFalse(answers[name]["valid"])
        self.answer("check", "check", "-", code=1, stdin="0F0,0F1,0B0\n")  # B1 is missing
        self.answer("check", "check", "-", code=1, stdin="0F0,0B1,0F1,0B0\n")  # waits for itself
        self.assertIn("line", answers["claim"]["violation"])
        self.assert_refused(
            "check",
            answers["place"],
            ("valid", True),
            ("violation", {}),
            ("violation", "line", 0),
            ("violation", "line", "3"),
            ("violation", "line", REMOVED),
            ("makespan", 1),
            ("timing", {"seconds": 1}),
        )

    def test_bounds(self):
        for problem in self.examples + INSTANCES + [self.idle_device]:
            bounds = self.answer("bounds", "bounds", problem)
        self.assert_refused(
            "bounds",
            bounds,
            ("makespan", "6"),
            ("time_unit", "hour"),
            ("arguments", "path", REMOVED),
            ("arguments", "luck", {}),
            ("arguments", "one_machine", "by_device", REMOVED),
            ("arguments", "work", "by_device", [1]),
            ("arguments", "work", "sets_the_bound", 1),
            ("timing", {}),
        )

    def test_programs(self):
        path = self.schedule(self.example("minibatches"))
        folder = self.path("programs") + "/"
        self.answer("convert", "convert", path, folder)
        self.answer("program-check", "check", folder)
        programs = validator_of("program@1.json")
        for file in sorted(Path(folder).iterdir()):
            programs.validate(json.loads(file.read_text(encoding="utf-8")))

    def test_convert(self):
        for example in ["two-models", "v-shape"]:
            path = self.schedule(self.example(example))
            for name in ["a.json", "a.svg", "a.trace.json", "a.csv"]:
                self.answer("convert", "convert", path, self.path(name))
        data = SOURCE / "tests" / "data"
        self.answer(
            "convert", "convert", str(data / "flexfusion" / "trace_exp2.txt"), self.path("b"), "--to", "csv-comms"
        )
        plain = [
            "convert",
            self.path("a.csv"),
            self.path("c.txt"),
            "--to",
            "json",
            "--problem",
            self.example("v-shape"),
        ]
        self.answer("convert", *plain, "--from", "csv-comms")
        converted = self.answer("convert", *plain)
        self.assert_refused(
            "convert", converted, ("from", "svg"), ("to", "png"), ("written", []), ("written", "c.txt"), ("notes", None)
        )

    def test_report(self):
        schedule, trace = self.schedule(self.example("v-shape")), self.path("v.trace.json")
        dovetail("convert", schedule, trace)
        for arguments in [(trace,), (schedule, trace), (schedule, trace, "--overlay")]:
            with self.subTest(arguments=arguments):
                self.report(*arguments)
        data = self.report(schedule)
        gantt = ("sections", 0)
        for damage in (
            ("format", "dovetail/report@2"),
            ("title", 1),
            (*gantt, "kind", "pie"),
            (*gantt, "length", 0, -1),
            (*gantt, "gap", REMOVED),
            (*gantt, "categories", 0, "color", "blue"),
            (*gantt, "lanes", 0, "bars", 1.5),
            ("sections", 1, "rows", 0, "amounts", 0, -1),
        ):
            self.assertFalse(self.validator("report").is_valid(changed(data, damage)), damage)

    def test_instances(self):
        instances = self.answer("instances", "instances")
        self.assert_refused(
            "instances",
            instances,
            ("instances", []),
            ("instances", 0, "name", REMOVED),
            ("instances", 0, "ops", 0),
            ("instances", 0, "devices", 8.5),
            ("instances", 0, "published", None),
            ("instances", 0, "published", "greedy", "makespan", REMOVED),
            ("instances", 0, "published", "peak_activation_optimized", REMOVED),
        )

    def test_fuse_layouts(self):
        costs = "forward=2,backward=4.5,activation=1"
        actor = f"actor,dp=2,pp=8,tp=8,microbatches=32,{costs}"
        fused = self.answer(
            "fused-layouts",
            "fuse-layouts",
            "--time-unit",
            "ms",
            "--model",
            actor,
            "--model",
            f"critic,dp=4,pp=8,tp=4,microbatches=15,{costs}",
        )
        self.assertGreater(len(fused["warnings"]), 0)
        alike = self.answer(
            "fused-layouts",
            "fuse-layouts",
            "--time-unit",
            "us",
            "--model",
            actor,
            "--model",
            f"critic,dp=2,pp=8,tp=8,microbatches=32,{costs}",
        )
        self.assertNotIn("merged_model", alike)
        self.assert_refused(
            "fused-layouts",
            fused,
            ("merged_stages", 1),
            ("merged_stages", 0),
            ("copies", [1]),
            ("groups", 0),
            ("notes", "none"),
            ("problem", REMOVED),
            ("problem", "models", REMOVED),
            ("problem", "exp5"),
        )
        self.assert_refused("fused-layouts", alike, ("merged_stages", 2), ("merged_model", "critic"))

    def test_problem(self):
        for problem in self.examples + INSTANCES + [self.idle_device]:
            self.answer("pipeline-problem", "problem", problem)
        self.answer(
            "pipeline-problem",
            "problem",
            "--from",
            str(SOURCE / "examples" / "timings.csv"),
            "--microbatches",
            "actor=4",
            "--microbatches",
            "critic=4",
        )


if __name__ == "__main__":
    unittest.main()
