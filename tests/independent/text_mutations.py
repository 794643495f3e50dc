"""Changes the text of an arbitrary script or YAML file without changing its meaning."""

import re

from mutations import older_key

# Variables that programs read from their environment, or that the shell sets.
KEPT = re.compile(r"^(PATH|HOME|PWD|IFS|UID|EUID|HOSTNAME|SLURM|CUDA|NCCL|VLLM|RAY|PYTHON|HF|WANDB|NRL|BASH|LD|RANDOM)")
WORD = re.compile(r"^(?P<lead>\s*)(?P<key>[+\w.\-]+)=(?P<value>[\w./\-]+)(?P<tail>\s*\\?)$")
FLAG = re.compile(r"^(?P<lead>\s*)(?P<key>--[\w.\-]+)(?P<value>( [\w./\-]+)?)(?P<tail>\s*\\?)$")


def sections(lines):
    """Returns runs of lines that are one word each of a command or of an array: their first and last lines."""
    first = None
    for number, line in enumerate([*lines, ""]):
        fits = WORD.match(line) or FLAG.match(line)
        continued = bool(fits) and line.rstrip().endswith("\\")
        if first is not None and (not fits or continued != lines[first].rstrip().endswith("\\")):
            if number - first > 1:
                yield first, number - 1
            first = None
        if fits and first is None and number > 0:
            first = number


def key_of(line):
    return (WORD.match(line) or FLAG.match(line))["key"].lstrip("+")


def in_command(lines, first):
    """Whether the lines belong to a command, which shows in their backslashes, or to an array, from its first line."""
    if lines[first].rstrip().endswith("\\"):
        return lines[first - 1].rstrip().endswith("\\")
    for line in reversed(lines[:first]):
        if re.match(r"^\s*(declare -a |local )?\w+\+?=\(\s*$", line):
            return True
        if not (WORD.match(line) or FLAG.match(line) or re.match(r"^\s*(#.*)?$", line)):
            return False
    return False


def with_other_order(text, chance):
    """Reorders the words of a command unless the key of one is part of another's."""
    lines = text.split("\n")
    for first, last in list(sections(lines)):
        # The last line of a command has no backslash and stays in place.
        keys = [key_of(line) for line in lines[first : last + 1]]
        nested = any(a != b and b.startswith(a + ".") for a in keys for b in keys)
        if len(set(keys)) == len(keys) and not nested and in_command(lines, first):
            part = lines[first : last + 1]
            chance.shuffle(part)
            lines[first : last + 1] = part
    return "\n".join(lines)


def with_other_quotes(text, chance):
    lines = text.split("\n")
    for first, last in list(sections(lines)):
        if not in_command(lines, first):
            continue
        for number in range(first, last + 1):
            found = WORD.match(lines[number])
            if found and chance.random() < 0.5:
                lead, key, value, tail = found["lead"], found["key"], found["value"], found["tail"]
                word = chance.choice([f"{key}='{value}'", f'{key}="{value}"', f"'{key}={value}'", f'"{key}={value}"'])
                lines[number] = lead + word + tail
    return "\n".join(lines)


def with_variables(text, chance):
    """Moves values of words into variables that are set at the beginning of the script."""
    lines, made = text.split("\n"), []
    for first, last in list(sections(lines)):
        if not in_command(lines, first):
            continue
        for number in range(first, last + 1):
            found = WORD.match(lines[number])
            if found and chance.random() < 0.4:
                name = f"MADE_{len(made)}"
                made.append(f"{name}={found['value']}")
                use = chance.choice([f"${name}", f"${{{name}}}", f"${{{name}:-x}}", f'"${{{name}}}"'])
                lines[number] = f"{found['lead']}{found['key']}={use}{found['tail']}"
    head = 1 if lines[0].startswith("#!") else 0
    return "\n".join([*lines[:head], *made, *lines[head:]])


def with_other_keys(text, chance):
    """Replaces settings of verl and OpenRLHF by their names in earlier versions."""
    dialect = "openrlhf" if "openrlhf.cli" in text else "verl"
    lines = text.split("\n")
    for first, last in list(sections(lines)):
        if not in_command(lines, first):
            continue
        for number in range(first, last + 1):
            found = WORD.match(lines[number]) or FLAG.match(lines[number])
            if chance.random() < 0.7:
                key = found["key"]
                lines[number] = lines[number].replace(key, older_key(dialect, key), 1)
    return "\n".join(lines)


def with_split_arrays(text, chance):
    lines = text.split("\n")
    opened = None
    made = []
    for number, line in enumerate(lines):
        begins = re.match(r"^\s*(?:declare -a |local )?(\w+)\+?=\(\s*$", line)
        if begins:
            opened = begins[1]
        elif opened and not (WORD.match(line) or FLAG.match(line)):
            opened = None
        elif opened and not line.rstrip().endswith("\\") and number + 1 < len(lines) and chance.random() < 0.3:
            made += [line, ")", f"{opened}+=("]
            continue
        made.append(line)
    return "\n".join(made)


def with_other_names(text, chance):
    """Renames variables that only the script uses."""
    assigned = set(re.findall(r"^\s*(?:local |declare -a )?([A-Za-z_]\w*)\+?=", text, re.M))
    # A word of a command whose key has no dot.
    assigned -= {name for name in assigned if re.search(rf"(?m)^\s+{name}=[\"']?\$\{{?{name}\b", text)}
    for name in sorted(assigned):
        if KEPT.match(name) or re.search(rf"\bexport\b[^\n]*\b{name}\b", text) or chance.random() < 0.3:
            continue
        uses = re.compile(rf"(\$\{{?[#!]?)({name})\b")
        sets = re.compile(rf"(?m)^(\s*(?:local |declare -a )?)({name})(?=\+?=)")
        every = len(re.findall(rf"\b{name}\b", text))
        if len(uses.findall(text)) == 0 or len(uses.findall(text)) + len(sets.findall(text)) != every:
            continue
        other = f"OTHER_{name}_{chance.randint(0, 99)}"
        text = sets.sub(
            lambda found, other=other: found[1] + other, uses.sub(lambda f, other=other: f[1] + other, text)
        )
    return text


def in_function(text, _):
    lines = text.split("\n")
    head = 1 if lines[0].startswith("#!") else 0
    return "\n".join([*lines[:head], "whole() {", *lines[head:], "}", 'whole "$@"', ""])


def with_other_blocks(text, chance):
    """Reorders parts of a YAML file."""
    if re.search(r"(^|\s)[&*]\w|^---|^%|<<:", text, re.M):
        return text
    blocks = re.split(r"(?m)^(?=[A-Za-z_][\w.]*:)", text)
    head, blocks = blocks[0], [block if block.endswith("\n") else block + "\n" for block in blocks[1:]]
    chance.shuffle(blocks)
    return head + "".join(blocks)


def with_other_scalars(text, chance):
    def quote(found):
        value = found["value"]
        if re.fullmatch(r"true|false|null|none|yes|no|on|off|~", value, re.I) or chance.random() < 0.5:
            return found[0]
        return found["lead"] + chance.choice([f"'{value}'", f'"{value}"']) + found["tail"]

    return re.sub(r"(?m)^(?P<lead>\s*[\w.]+: )(?P<value>[A-Za-z][\w/]*)(?P<tail>\s*)$", quote, text)


SCRIPT = (
    with_other_order,
    with_other_keys,
    with_other_quotes,
    with_variables,
    with_split_arrays,
    with_other_names,
    in_function,
)
YAML = (with_other_blocks, with_other_scalars)


def mutant_of_text(path, text, chance):
    """Applies some of the mutations. Returns the text and the names of the mutations."""
    done = []
    for mutation in YAML if path.suffix in (".yaml", ".yml") else SCRIPT:
        if chance.random() < 0.6:
            changed = mutation(text, chance)
            done += [mutation.__name__] * (changed != text)
            text = changed
    return text, done
