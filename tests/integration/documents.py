"""Shared code of the JSON Schema tests: the program, validators, and deliberately damaged documents."""

import copy
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import jsonschema

SOURCE = Path(sys.argv.pop(1))
DOVETAIL = sys.argv.pop(1)
INSTANCES = ["exp2", "exp11"]


def dovetail(*arguments, code=0, stdin=None):
    result = subprocess.run(
        [DOVETAIL, *arguments], input=stdin, capture_output=True, text=True, check=False, timeout=120
    )
    assert result.returncode == code, f"dovetail {' '.join(arguments)} gave {result.returncode}:\n{result.stderr}"
    return result.stdout


def format_of(name):
    """Returns the format with this name and the latest version of its schema, such as "fit@2"."""
    schemas = (SOURCE / "schemas").glob(f"{name}@*.json")
    return max((schema.stem for schema in schemas), key=lambda stem: int(stem.split("@")[1]))


def validator_of(name):
    schema = json.loads((SOURCE / "schemas" / name).read_text(encoding="utf-8"))
    checker = jsonschema.validators.validator_for(schema)
    checker.check_schema(schema)
    # Schemas refer to each other by file name.
    place = (SOURCE / "schemas" / name).resolve().as_uri()
    return checker(schema, resolver=jsonschema.RefResolver(place, schema))


def changed(document, *steps):
    """Returns a copy of the document with the value at a path replaced or removed: (key, ..., value) or (key, ...,
    REMOVED)."""
    result = copy.deepcopy(document)
    for *path, last, value in steps:
        place = result
        for key in path:
            place = place[key]
        if value is REMOVED:
            del place[last]
        else:
            place[last] = value
    return result


REMOVED = object()
# Keys of reports that are present only if they have content.
OPTIONAL = {
    "claims",
    "robust",
    "varied",
    "stopped_by",
    "other_layout",
    "iterations_per_second",
    "awaits",
    "line",
    "column",
    "published",
    "price",
    "device_memory",
    "source",
    "doubtful",
    "measured",
    "left_out",
    "lengths",
    "fastest",
    "roomiest",
    "smallest_cluster",
    "nearest",
    "repair",
    "best_plan",
    "comparison",
    "part",
    "over_bound",
    "not_fused",
    "fusion",
    "inter_stage",
    "intra_stage",
    "fused_training",
    "bound_seconds",
    "fused_bound_seconds",
    "simulated_seconds",
    "span_columns",
    "spans",
    "memory",
    "how",
    "fused",
}


def damages_everywhere(value, *path):
    """Yields damaged documents: every object with an additional key and with a missing key, and every value with a
    wrong type. Only the first item of a list is damaged. Embedded objects of other formats have their own schemas and
    stay unchanged."""
    if path:
        yield (*path, {"colour": "red"} if not isinstance(value, dict) else "red")
        if isinstance(value, dict) and "format" in value:
            return
    if isinstance(value, list) and value:
        yield from damages_everywhere(value[0], *path, 0)
    if isinstance(value, dict):
        yield (*path, "colour", "red")
        for key, part in value.items():
            if key not in OPTIONAL and path[-2:] != ("timing", "seconds"):
                yield (*path, key, REMOVED)
            yield from damages_everywhere(part, *path, key)


class Documents(unittest.TestCase):
    """Tests of documents against the schemas of their formats."""

    validators = {}

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @classmethod
    def path(cls, name):
        return str(Path(cls.folder.name) / name)

    def validator(self, name):
        if name not in self.validators:
            self.validators[name] = validator_of(f"{format_of(name)}.json")
        return self.validators[name]

    def assert_each_refused(self, name, document, *damages):
        self.validator(name).validate(document)
        for damage in damages:
            with self.subTest(name=name, damage=damage):
                self.assertFalse(self.validator(name).is_valid(changed(document, damage)))

    def answer(self, name, *arguments, code=0, stdin=None):
        """Runs the command with --json and checks that it prints one object that satisfies the schema of that name."""
        document = json.loads(dovetail(*arguments, "--json", code=code, stdin=stdin))
        with self.subTest(arguments=arguments):
            self.assertEqual(document["format"], f"dovetail/{format_of(name)}")
            self.validator(name).validate(document)
        return document

    def assert_refused(self, name, document, *damages):
        """Checks that the schema rejects each of the damages, and the generic damages of any document."""
        parts = {
            key: part for key, part in document.items() if not isinstance(part, dict) or "format" not in part
        }  # the schema of another format
        version = int(format_of(name).split("@")[1])
        for damage in (*damages, *damages_everywhere(parts), ("format", f"dovetail/{name}@{version + 1}")):
            with self.subTest(name=name, damage=damage):
                self.assertFalse(self.validator(name).is_valid(changed(document, damage)))
