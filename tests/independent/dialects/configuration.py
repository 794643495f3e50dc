"""A configuration of a trainer: its settings, and the plainest file that says them."""

from dataclasses import dataclass


class CannotSay(Exception):
    """A trainer has no words for a part of a run; its text is which part."""


@dataclass
class Configuration:
    """Settings in an order that does not matter, for a program."""

    dialect: str
    kind: str  # overrides (key=value), flags (--key value), yaml
    program: str
    settings: dict
    copies: int = 1  # of the actor: data parallel ranks

    @property
    def file(self):
        return "run.yaml" if self.kind == "yaml" else "run.sh"


def needs(condition, part):
    if not condition:
        raise CannotSay(part)


def scalar(value):
    """As YAML and Hydra have it."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def below(keys, settings):
    return {f"{keys}.{name}": value for name, value in settings.items()}


def quoted(text):
    """A word of the shell."""
    plain = all(c.isalnum() or c in "+-_./:,=%@" for c in text)
    return text if plain and text else "'" + text.replace("'", "'\\''") + "'"


def words_of(configuration):
    """The words behind the program, a list for each setting."""
    words = []
    for key, value in configuration.settings.items():
        if configuration.kind == "overrides":
            words.append([f"{key}={scalar(value)}"])
        elif value is True:
            words.append([key])
        elif value is not False and value is not None:
            words.append([key, scalar(value)])
    return words


def tree_of(settings):
    tree = {}
    for key, value in settings.items():
        *folders, name = key.split(".")
        place = tree
        # A file's own name is no path.
        if key == "defaults":
            folders, name = [], key
        for folder in folders:
            place = place.setdefault(folder, {})
        if isinstance(value, dict):
            value = dict(value)
        place[name] = value
    return tree


def yaml_value(value):
    if isinstance(value, str):
        return '"' + value.replace('"', '\\"') + '"'
    return scalar(value)


def yaml_lines(tree, indent=0):
    for key, value in tree.items():
        if isinstance(value, dict):
            yield " " * indent + f"{key}:"
            yield from yaml_lines(value, indent + 2)
        else:
            yield " " * indent + f"{key}: {yaml_value(value)}"


def text_of(configuration):
    """The plainest file that says it."""
    if configuration.kind == "yaml":
        return "\n".join(yaml_lines(tree_of(configuration.settings))) + "\n"
    lines = [" ".join(quoted(word) for word in words) for words in words_of(configuration)]
    return "#!/bin/bash\n" + " \\\n    ".join([configuration.program, *lines]) + "\n"
