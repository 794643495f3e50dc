"""A trainer's configuration: its settings, and the simplest file that contains them."""

from dataclasses import dataclass


class CannotSay(Exception):
    """A trainer does not support a part of a run; the text names the part."""


@dataclass
class Configuration:
    """Settings for a program, in any order."""

    dialect: str
    kind: str  # overrides (key=value), flags (--key value), yaml
    program: str
    settings: dict
    copies: int = 1  # data-parallel ranks of the actor

    @property
    def file(self):
        return "run.yaml" if self.kind == "yaml" else "run.sh"


def needs(condition, part):
    if not condition:
        raise CannotSay(part)


def scalar(value):
    """Formats a value for YAML and Hydra."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def below(keys, settings):
    return {f"{keys}.{name}": value for name, value in settings.items()}


def quoted(text):
    """Quotes a word for the shell."""
    plain = all(c.isalnum() or c in "+-_./:,=%@" for c in text)
    return text if plain and text else "'" + text.replace("'", "'\\''") + "'"


def words_of(configuration):
    """Returns the program's arguments, one list per setting."""
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
        # The file's own name is not a path.
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
    """Returns the simplest file with this configuration."""
    if configuration.kind == "yaml":
        return "\n".join(yaml_lines(tree_of(configuration.settings))) + "\n"
    lines = [" ".join(quoted(word) for word in words) for words in words_of(configuration)]
    return "#!/bin/bash\n" + " \\\n    ".join([configuration.program, *lines]) + "\n"
