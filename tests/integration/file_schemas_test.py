#!/usr/bin/env python3
"""Tests that input files and schedules satisfy the JSON Schema of their format, and that damaged ones do not.

usage: file_schemas_test.py SOURCE_DIR DOVETAIL
"""

import hashlib
import json
import re
import tempfile
import unittest
from pathlib import Path

from documents import INSTANCES, REMOVED, SOURCE, Documents, changed, dovetail, validator_of

try:
    import yaml
except ImportError:  # only the C++ tests cover YAML files then
    yaml = None


class Schemas(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.problems = validator_of("pipeline-problem@1.json")
        cls.schedules = validator_of("schedule@1.json")

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def problem_json(self, problem):
        path = Path(self.folder.name) / "problem.json"
        dovetail("problem", problem, "-o", str(path))
        return json.loads(path.read_text(encoding="utf-8"))

    def schedule_json(self, problem):
        path = Path(self.folder.name) / "schedule.json"
        dovetail("schedule", problem, "--solver", "list", "-o", str(path))
        return json.loads(path.read_text(encoding="utf-8"))

    def test_examples_and_instances_are_problems(self):
        examples = sorted(str(path) for path in (SOURCE / "examples").glob("*.yaml"))
        self.assertGreater(len(examples), 8)
        for problem in examples + INSTANCES:
            with self.subTest(problem=problem):
                self.problems.validate(self.problem_json(problem))

    def test_schedules_satisfy_their_schema(self):
        for name in ["two-models.yaml", "split-backward.yaml", "minibatches.yaml", "capacity.yaml"]:
            with self.subTest(example=name):
                self.schedules.validate(self.schedule_json(str(SOURCE / "examples" / name)))

    def test_a_searched_schedule_satisfies_its_schema(self):
        path = Path(self.folder.name) / "searched.json"
        dovetail("schedule", str(SOURCE / "examples" / "two-models.yaml"), "--iterations", "200", "-o", str(path))
        self.schedules.validate(json.loads(path.read_text(encoding="utf-8")))

    def test_damaged_problems_are_refused(self):
        problem = self.problem_json(str(SOURCE / "examples" / "split-backward.yaml"))
        self.assert_all_refused(
            self.problems,
            problem,
            [
                ("format", "dovetail/pipeline-problem@2"),
                ("format", REMOVED),
                ("time_unit", "hour"),
                ("devices", 0),
                ("devices", "4"),
                ("models", []),
                ("models", REMOVED),
                ("colour", "red"),
                ("memory", {"capacity": -1}),
                ("models", 0, "name", 7),
                ("models", 0, "microbatches", 0),
                ("models", 0, "forward", REMOVED),
                ("models", 0, "forward", "fast"),
                ("models", 0, "devices", []),
                ("models", 0, "fwd", 2),
                ("models", 0, "transfer", {"sideways": 1}),
                ("models", 0, "step_after", "stages"),
                ("models", 0, "step_before", 1),
                ("models", 0, "replicas", [[0, 1, 2, 3]]),
            ],
        )  # together with `devices`

    def test_damaged_schedules_are_refused(self):
        schedule = self.schedule_json(str(SOURCE / "examples" / "two-models.yaml"))
        self.assert_all_refused(
            self.schedules,
            schedule,
            [
                ("format", "dovetail/schedule@0"),
                ("problem", REMOVED),
                ("problem", "exp5"),
                ("problem", "models", REMOVED),
                ("columns", REMOVED),
                ("columns", ["op"]),
                ("devices", REMOVED),
                ("devices", 0, {}),
                ("makespan", "long"),
                ("author", "me"),
                ("optimal", {"makespan": 1}),
                ("stopped_by", "boredom"),
            ],
        )

    def assert_all_refused(self, validator, document, damages):
        validator.validate(document)
        for damage in damages:
            with self.subTest(damage=damage):
                self.assertFalse(validator.is_valid(changed(document, damage)))


# A job with all keys that are compatible with each other. The changes below cover the others.


JOB = {
    "format": "dovetail/job@1",
    "name": "everything",
    "algorithm": {
        "name": "ppo",
        "reference": "averaged",
        "reference_decay": 0.99,
        "reward": "rule",
        "reward_seconds": 0.1,
        "policy_log_probabilities": "trainer",
        "ptx_tokens": 100,
    },
    "models": {"actor": "llama-2-7b", "critic": {"model": "models/critic.json", "lora": 8}},
    "workload": {
        "prompts": 128,
        "samples_per_prompt": 4,
        "mini_batch": 64,
        "epochs": 1,
        "prompt_length": 100,
        "steps_off_policy": 1,
        "packing": False,
        "response_length": {"mean": 1000, "sigma": 0.8, "cap": 4096},
    },
    "cluster": {
        "nodes": 2,
        "gpus_per_node": 8,
        "gpu": "H100",
        "host_memory": "2TB",
        "price": 2.5,
        "network": {"bandwidth": "400Gb/s", "latency": "5us", "half_bandwidth_size": "1.5 MiB"},
    },
    "software": {"training": "megatron", "efficiency": "h100"},
    "fixed": {
        "placement": ["co-located"],
        "actor_generate": {"devices": 3, "layout": {"tp": 1}, "engine": {"memory_utilization": 0.6}, "offload": []},
        "actor_train": {
            "devices": "0-7",
            "layout": {"dp": 2, "zero": 0},
            "micro_batch": {"tokens": 8192},
            "offload": ["weights"],
        },
    },
}
GRAPH = {
    "roles": [
        {"name": "a"},
        {"name": "b", "head": "scalar", "initialised_from": "a", "averaged_from": "a", "decay": 0.5},
    ],
    "tasks": [
        {
            "name": "g",
            "kind": "generate",
            "role": "a",
            "inputs": ["p"],
            "outputs": ["r"],
            "sequences": 2,
            "per": "prompt",
        },
        {"name": "i", "kind": "infer", "role": "b", "inputs": ["r"]},
        {"name": "c", "kind": "rule", "seconds": 0.5},
        {"name": "t", "kind": "train", "role": "a", "extra_tokens": 5},
    ],
}
GROUPS = {
    "groups": [
        {"nodes": 2, "gpus_per_node": 8, "gpu": 4090, "host_memory": 0},
        {
            "nodes": 1,
            "gpus_per_node": 3,
            "gpu": {
                "name": "X",
                "memory": "80GiB",
                "usable_memory": 8e10,
                "bandwidth": "3.35TB/s",
                "bf16": "989TFLOP/s",
                "fp16": 9e14,
                "fp8": "2e3 TFLOPS",
                "link": "450GB/s",
                "host_link": "512Gbit/s",
            },
        },
    ],
    "networks": [{"name": "rack", "nodes": 2, "bandwidth": 5e10}, {"name": "spine", "latency": "0.01ms"}],
}
CONFIG = {
    "model_type": "llama",
    "num_hidden_layers": 2,
    "hidden_size": 64,
    "num_attention_heads": 4,
    "intermediate_size": 128,
    "vocab_size": 100,
    "torch_dtype": "bfloat16",
}


RUN = {
    "iterations": 60,
    "seed": 2,
    "data": {"train": "prompts.jsonl", "validation": "held-out.jsonl", "shuffle": False, "template": "chatml"},
    "tokenizer": "actor",
    "weights": {"actor": "actor"},
    "precision": {"train": "fp32"},
    "optimizer": {"actor": {"learning_rate": 1e-4, "clip": "none", "schedule": {"name": "cosine", "warmup": 5}}},
    "sampling": {"temperature": 0.7, "stop": ["\n\n"]},
    "loss": {"clip": 0.1, "kl": {"in": "loss", "estimator": "k3"}, "weigh": "constant"},
    "reward": {"command": ["python3", "reward.py"], "timeout": "10s"},
    "evaluate": {"every": 10, "samples": 64},
    "checkpoint": {"keep": 3, "best": "reward"},
    "guards": {"non_finite": "stop"},
}


class Jobs(unittest.TestCase):
    """Jobs and plans, which no command converts: the files of the examples, and a job in JSON."""

    @classmethod
    def setUpClass(cls):
        cls.jobs = validator_of("job@1.json")
        cls.plans = validator_of("plan@1.json")
        cls.files = [
            path for path in sorted((SOURCE / "examples" / "jobs").iterdir()) if yaml or path.suffix == ".json"
        ]

    def load(self, path):
        text = path.read_text(encoding="utf-8")
        return json.loads(text) if path.suffix == ".json" else yaml.safe_load(text)

    def test_examples_are_jobs_and_plans(self):
        self.assertGreater(len(self.files), 3)
        for path in self.files:
            with self.subTest(example=path.name):
                (self.plans if ".plan." in path.name else self.jobs).validate(self.load(path))

    def test_hashes_match_the_formats_page(self):
        plans = [path for path in self.files if path.name.endswith(".plan.json")]
        self.assertGreater(len(plans), 3)
        for path in plans:
            with self.subTest(example=path.name):
                plan = self.load(path)
                stored_hash = plan.pop("hash")
                text = json.dumps(plan, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
                self.assertEqual(stored_hash, hashlib.sha256(text.encode()).hexdigest())

    def test_schemas_accept_what_the_readers_accept(self):
        accepted = [
            (),
            ("name", REMOVED),
            ("algorithm", "reinforce++"),
            ("algorithm", {"name": "sft"}),
            ("algorithm", {"name": "dpo", "ptx_tokens": 5}),
            ("algorithm", GRAPH),
            ("cluster", GROUPS),
            ("models", "actor", CONFIG),
            ("workload", "mini_batch", REMOVED),
            ("software", {}),
            ("software", "prefetch", True),
            ("fixed", {}),
            ("fixed", "actor_train", {}),
            ("train", RUN),
            (
                "train",
                {
                    "epochs": 1,
                    "data": {"train": "a"},
                    "loss": {"kl": {"target": 6, "horizon": 5}, "value_clip": "none"},
                },
            ),
            ("workload", "response_length", {"file": "lengths.csv", "column": "tokens"}),
            ("workload", "response_length", {"p50": 10, "p90": 20.5, "p99": 30, "at_cap": 0.01, "cap": 40}),
        ]
        for damage in accepted:
            with self.subTest(damage=damage):
                self.jobs.validate(changed(JOB, damage) if damage else JOB)

    def test_damaged_jobs_are_refused(self):
        refused = [
            ("format", "dovetail/job@2"),
            ("name", ""),
            ("colour", "red"),
            ("algorithm", "gppo"),
            ("algorithm", "reward", "model"),
            ("algorithm", "reference", "pass"),
            ("algorithm", {"name": "dpo", "reward": "rule"}),
            ("algorithm", {"name": "dpo", "reference": "skip"}),
            ("algorithm", "reference_decay", 1),
            ("models", "actor", 7),
            ("models", "actor", {"lora": 7}),
            ("models", "critic", "lora", 0),
            ("models", "actor", {"model_type": "gpt"}),
            ("workload", "prompts", 0),
            ("workload", "mini_batches", 2),
            ("workload", "packing", 1),
            ("workload", "response_length", 0),
            ("workload", "response_length", {"p50": 5}),
            ("workload", "prompt_length", {"column": "x"}),
            ("workload", "response_length", "sigma", 6),
            ("cluster", "groups", GROUPS["groups"]),
            ("cluster", "networks", GROUPS["networks"]),
            ("cluster", "gpu", REMOVED),
            ("cluster", "gpu", {"name": "X", "memory": 1e9, "bandwidth": 1e9}),
            ("cluster", "price", "2.5 EUR"),
            ("cluster", "host_memory", "lots"),
            ("cluster", "network", "bandwidth", "50GB"),
            ("cluster", "network", "latency", "5 GB"),
            ("cluster", "network", "latency", 5),
            ("train", {"data": {"train": "a"}}),
            ("train", {"iterations": 1, "epochs": 1, "data": {"train": "a"}}),
            ("train", {"iterations": 1, "data": {"train": "a"}, "loss": {"kl": {"horizon": 5}}}),
            ("train", {"iterations": 1, "data": {"train": ""}}),
            ("train", {"iterations": 1, "data": {"train": "a"}, "colour": 1}),
            ("train", {"iterations": 1, "data": {"train": "a"}, "precision": {"train": "bf16"}}),
            ("software", "engine", "llama.cpp"),
            ("software", "engines", "vllm"),
            ("software", "prefetch", "yes"),
            ("fixed", []),
            ("fixed", "placement", []),
            ("fixed", "placement", "co-located"),
            ("fixed", "placement", ["a", "a"]),
            ("fixed", "actor_train", 3),
            ("fixed", "actor_train", "task", "actor_train"),
            ("fixed", "actor_train", "devices", "0-"),
            ("fixed", "actor_train", "layout", "dp", 0),
            ("fixed", "actor_train", "engine", {}),
            ("fixed", "actor_train", "micro_batch", {}),
            ("fixed", "actor_generate", "engine", "max_seqs", 1),
            ("fixed", "actor_generate", "offload", ["all"]),
        ]
        refused += [(key, REMOVED) for key in ["format", "algorithm", "models", "workload", "cluster"]]
        graph_refused = [
            ("roles", []),
            ("roles", 1, "decay", REMOVED),
            ("tasks", 0, "role", REMOVED),
            ("tasks", 2, "role", "a"),
            ("tasks", 1, "seconds", 1),
            ("tasks", 1, "extra_tokens", 1),
            ("tasks", 0, "inputs", ["a", "a"]),
            ("name", "ppo"),
        ]
        refused += [("algorithm", changed(GRAPH, damage)) for damage in graph_refused]
        for damage in refused:
            with self.subTest(damage=damage):
                self.assertFalse(self.jobs.is_valid(changed(JOB, damage)))

    def test_damaged_plans_are_refused(self):
        plan = self.load(SOURCE / "examples" / "jobs" / "grpo-8b.plan.json")
        generate, train = 0, 3
        for damage in (
            [
                ("format", REMOVED),
                ("tasks", REMOVED),
                ("tasks", {}),
                ("placement", 3),
                ("job", ""),
                ("colour", "red"),
                ("hash", "sha"),
                ("hash", 64 * "A"),
                ("job_hash", 64 * "g"),
                ("job_hash", 0),
            ]
            + [
                ("tasks", train, *step)
                for step in [
                    ("task", REMOVED),
                    ("devices", REMOVED),
                    ("layout", REMOVED),
                    ("devices", "0-"),
                    ("devices", [0, 7]),
                    ("devices", -1),
                    ("layout", "dp", 0),
                    ("layout", "data", 8),
                    ("layout", "zero", 4),
                    ("layout", "recompute", "some"),
                    ("layout", "stage_layers", [-1]),
                    ("layout", "sequence_parallel", 1),
                    ("micro_batch", {}),
                    ("micro_batch", {"tokens": 1, "count": 1}),
                    ("micro_batch", {"tokens": 0}),
                    ("engine", {}),
                    ("offload", ["weight"]),
                    ("offload", ["weights", "weights"]),
                ]
            ]
            + [
                ("tasks", generate, "engine", *step)
                for step in [
                    ("memory_utilization", 0),
                    ("memory_utilization", 1.1),
                    ("memory_utilization", "0.9"),
                    ("max_num_seqs", 0),
                    ("max_seqs", 8),
                    ("cuda_graphs", "yes"),
                ]
            ]
        ):
            with self.subTest(damage=damage):
                self.assertFalse(self.plans.is_valid(changed(plan, damage)))


@unittest.skipIf(yaml is None, "needs PyYAML")
class Measured(Documents):
    """Measurements of layers and of steps."""

    def test_profiles(self):
        for path in sorted((SOURCE / "examples" / "profiles").glob("*.yaml")):
            profile = yaml.safe_load(path.read_text(encoding="utf-8"))
            self.assert_each_refused(
                "profile",
                profile,
                ("format", REMOVED),
                ("name", ""),
                ("layers", []),
                ("colour", "red"),
                ("layers", 0, "gpu", 3),
                ("layers", 0, "model", REMOVED),
                ("layers", 0, "tensor", 0),
                ("layers", 0, "forward", []),
                ("layers", 0, "forward", 0, "tokens", [0]),
                ("layers", 0, "decode", 0, "length", 5),
                ("layers", 0, "backward", 0, "seconds", REMOVED),
                ("layers", 0, "precision", "fp8"),
                ("layers", 0, "head", {"tokens": [1024]}),
                ("layers", 0, "embedding", {"forward": [0.001]}),
                ("links", []),
                ("links", [{"bytes": [1024]}]),
                ("cluster", 3),
            )

    def test_measurements(self):
        runs = yaml.safe_load((SOURCE / "examples" / "measurements" / "nemo-rl-dense.yaml").read_text(encoding="utf-8"))
        inline = 2
        self.assert_each_refused(
            "measurement",
            runs,
            ("format", REMOVED),
            ("name", 3),
            ("rows", []),
            ("rows", REMOVED),
            ("colour", "red"),
            ("fit", []),
            ("fit", ["slott"]),
            ("fit", ["slot", "slot"]),
            ("start", {"slott": 1}),
            ("start", "task", 31),
            ("spread", {"low": 0}),
            ("spread", {"least": 1}),
            *[
                ("rows", inline, *step)
                for step in [
                    ("job", REMOVED),
                    ("plan", 3),
                    ("seconds", 0),
                    ("seconds", REMOVED),
                    ("name", ""),
                    ("weight", -1),
                    ("job", "format", "dovetail/job@2"),
                    ("plan", "tasks", REMOVED),
                    ("phases", "refit", "5"),
                    ("response_length", {"mean": 5}),
                    ("response_length", {"mean": 5, "cap": 9, "sigma": 1}),
                ]
            ]
        )
        both = changed(runs, ("rows", 0, "weight", 1), ("rows", 0, "doubtful", "why"))
        self.assertFalse(self.validator("measurement").is_valid(both))


class Checkpoints(Documents):
    def test_manifests(self):
        # The manifest that tests/records/checkpoints_test.cpp writes.
        manifest = {
            "format": "dovetail/checkpoint@1",
            "hash": "83f90aeb99d15d8ca64ea5dd3c869105d868d611cff94b75f6dcf7397475b7ad",
            "run": 64 * "a",
            "iteration": 20,
            "best": True,
            "files": [
                {"name": "actor.state", "bytes": 12, "sha256": 64 * "1"},
                {"name": "state.json", "bytes": 3, "sha256": 64 * "2"},
            ],
        }
        members = {key: value for key, value in manifest.items() if key != "hash"}
        text = json.dumps(members, sort_keys=True, separators=(",", ":"))
        self.assertEqual(manifest["hash"], hashlib.sha256(text.encode()).hexdigest())
        self.assert_each_refused(
            "checkpoint",
            manifest,
            ("format", "dovetail/checkpoint@2"),
            ("hash", REMOVED),
            ("run", 64 * "A"),
            ("iteration", -1),
            ("best", 1),
            ("files", {}),
            ("colour", "red"),
            ("files", 0, "name", "../state.json"),
            ("files", 0, "name", "manifest.json"),
            ("files", 0, "bytes", 1.5),
            ("files", 0, "sha256", REMOVED),
        )


def references_of(schema):
    """Returns all references of a schema."""
    if isinstance(schema, list):
        schema = dict(enumerate(schema))
    if isinstance(schema, dict):
        if isinstance(schema.get("$ref"), str):
            yield schema["$ref"]
        for part in schema.values():
            yield from references_of(part)


class Formats(unittest.TestCase):
    def test_every_format_of_the_program_has_a_schema(self):
        sources = [
            path.read_text(encoding="utf-8")
            for path in sorted((SOURCE / "src").rglob("*.*"))
            if path.suffix in (".cpp", ".h")
        ]
        formats = {name for text in sources for name in re.findall(r'"dovetail/([a-z-]+@[0-9]+)"', text)}
        schemas = {path.name.removesuffix(".json") for path in (SOURCE / "schemas").glob("*@*.json")}
        self.assertGreater(len(formats), 8)
        self.assertEqual(formats, schemas)

    def test_references_of_schemas_exist(self):
        for path in sorted((SOURCE / "schemas").glob("*.json")):
            schema = json.loads(path.read_text(encoding="utf-8"))
            resolver = validator_of(path.name).resolver
            for reference in references_of(schema):
                with self.subTest(schema=path.name, reference=reference):
                    resolver.resolve(reference)

    def test_shared_definitions_are_used(self):
        definitions = json.loads((SOURCE / "schemas" / "definitions.json").read_text(encoding="utf-8"))
        used = {
            reference.rpartition("/")[2]
            for path in (SOURCE / "schemas").glob("*.json")
            for reference in references_of(json.loads(path.read_text(encoding="utf-8")))
            if "definitions.json#" in reference
        }
        used |= {reference.rpartition("/")[2] for reference in references_of(definitions)}
        self.assertEqual(set(definitions["$defs"]) - used, set())


if __name__ == "__main__":
    unittest.main()
