#!/usr/bin/env python3
"""Creates the data, configurations and tokenizers of the demonstrations in this folder.

usage: make.py [--check | --bf16 IN OUT]

With --check, writes nothing: prints the files that differ from the script's output and exits with 1 if there are any.
The files in NOT_IN_GIT may be missing.

Coin clauses (tiny-sft, tiny-rm, tiny-ppo): a prompt "3 harbor" asks for three clauses "adjective noun" about a
topic. The topic determines the noun of clause i; the adjective is good or bad. Sorting (tiny-grpo): a prompt
"5203=" asks for its digits in ascending order.
"""

import array
import json
import math
import random
import struct
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
GOOD = "good bright kind clear warm fine".split()
BAD = "bad dark cruel dull cold rough".split()
TOPICS = "harbor garden market river castle forest bridge island".split()
MAX_CLAUSES = 8

# Large, and needed only to retrain the models in git.
NOT_IN_GIT = ("tiny-sft/train.jsonl", "tiny-rm/train.jsonl", "tiny-grpo/start.jsonl")


def nouns_of(topic, clauses):
    return [TOPICS[(3 * topic + 5 * i + 1) % len(TOPICS)] for i in range(clauses)]


def draw_prompt(rng):
    """Returns a number of clauses, with a frequency of about 0.75^n, and a topic."""
    clauses = rng.choices(range(1, MAX_CLAUSES + 1), [0.75**n for n in range(1, MAX_CLAUSES + 1)])[0]
    return clauses, rng.randrange(len(TOPICS))


def prompt_text(clauses, topic):
    return f"{clauses} {TOPICS[topic]}"


def draw_response(rng, clauses, topic):
    return " ".join(f"{rng.choice(GOOD + BAD)} {noun}" for noun in nouns_of(topic, clauses))


def goodness(response):
    return sum((word in GOOD) - (word in BAD) for word in response.split())


def clause_examples(seed, count):
    rng = random.Random(seed)
    for _ in range(count):
        clauses, topic = draw_prompt(rng)
        yield {"prompt": prompt_text(clauses, topic), "response": draw_response(rng, clauses, topic)}


def judged_pairs(seed, count):
    """Yields pairs whose chosen response is drawn from the Bradley-Terry model with a value of 2 per adjective. All
    numbers of clauses are equally frequent, so that a reward model learns that the values of adjectives add up."""
    rng = random.Random(seed)
    for _ in range(count):
        clauses, topic = rng.randint(1, MAX_CLAUSES), rng.randrange(len(TOPICS))
        first, second = (draw_response(rng, clauses, topic) for _ in range(2))
        if rng.random() >= 1 / (1 + math.exp(goodness(second) - goodness(first))):
            first, second = second, first
        yield {"prompt": prompt_text(clauses, topic), "chosen": first, "rejected": second}


def ordered_pairs(seed, count):
    """Yields pairs in which the response with more good adjectives is chosen."""
    rng = random.Random(seed)
    while count > 0:
        clauses, topic = draw_prompt(rng)
        responses = sorted((draw_response(rng, clauses, topic) for _ in range(2)), key=goodness)
        if goodness(responses[0]) == goodness(responses[1]):
            continue
        count -= 1
        yield {"prompt": prompt_text(clauses, topic), "chosen": responses[1], "rejected": responses[0]}


def clause_prompts(seed, count):
    rng = random.Random(seed)
    for _ in range(count):
        yield {"prompt": prompt_text(*draw_prompt(rng))}


def draw_digits(rng):
    return [rng.randrange(10) for _ in range(rng.randint(3, 8))]


def as_text(digits):
    return "".join(map(str, digits))


def sort_examples(seed, count):
    """Yields examples of which two in five are sorted, the others in random order."""
    rng = random.Random(seed)
    for _ in range(count):
        digits = draw_digits(rng)
        response = sorted(digits)
        if rng.random() >= 0.4:
            rng.shuffle(response)
        yield {"prompt": as_text(digits) + "=", "response": as_text(response)}


def sort_prompts(seed, count):
    rng = random.Random(seed)
    for _ in range(count):
        digits = draw_digits(rng)
        yield {"prompt": as_text(digits) + "=", "answer": as_text(sorted(digits))}


def tokenizer(vocabulary, pre_tokenizer):
    """Returns a tokenizer with whole words or single characters as tokens, without merges."""
    special = [
        {
            "id": i,
            "content": content,
            "single_word": False,
            "lstrip": False,
            "rstrip": False,
            "normalized": False,
            "special": True,
        }
        for i, content in enumerate(("<pad>", "<eos>"))
    ]
    return {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": special, "normalizer": None,
        "pre_tokenizer": pre_tokenizer, "post_processor": None,
        "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
        "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
                  "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False, "ignore_merges": True,
                  "vocab": {content: i for i, content in enumerate(vocabulary)}, "merges": []},
    }  # fmt: skip


def clause_tokenizer():
    words = [str(n) for n in range(1, MAX_CLAUSES + 1)] + GOOD + BAD + TOPICS
    vocabulary = ["<pad>", "<eos>"] + ["\u0120" + word for word in words] + ["<unused0>", "<unused1>"]
    return tokenizer(
        vocabulary, {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}
    )


def sort_tokenizer():
    vocabulary = ["<pad>", "<eos>"] + list("0123456789=") + ["<unused0>", "<unused1>", "<unused2>"]
    split = {"type": "Split", "pattern": {"Regex": "."}, "behavior": "Isolated", "invert": False}
    plain = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    return tokenizer(vocabulary, {"type": "Sequence", "pretokenizers": [split, plain]})


def config(vocabulary, head="ForCausalLM", **more):
    return {
        "architectures": ["Llama" + head], "model_type": "llama", "num_hidden_layers": 4, "hidden_size": 128,
        "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 384, "vocab_size": vocabulary,
        "hidden_act": "silu", "rms_norm_eps": 1e-05, "max_position_embeddings": 64, "rope_theta": 10000.0,
        "tie_word_embeddings": False, "bos_token_id": None, "eos_token_id": 1, "pad_token_id": 0,
        "torch_dtype": "bfloat16", **more,
    }  # fmt: skip


def lines(rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


def document(value):
    return json.dumps(value, indent=1, ensure_ascii=False) + "\n"


def files():
    """Returns {path relative to this folder: content}."""
    return {
        "tiny-sft/train.jsonl": lines(clause_examples(1, 4000)),
        "tiny-sft/held-out.jsonl": lines(clause_examples(2, 256)),
        "tiny-sft/model/config.json": document(config(32)),
        "tiny-sft/model/tokenizer.json": document(clause_tokenizer()),
        "tiny-rm/train.jsonl": lines(judged_pairs(3, 8000)),
        "tiny-rm/held-out.jsonl": lines(ordered_pairs(4, 512)),
        "tiny-rm/model/config.json": document(config(32, "ForSequenceClassification", num_labels=1)),
        "tiny-rm/model/tokenizer.json": document(clause_tokenizer()),
        "small-ppo/model/config.json": document(
            config(
                32,
                num_hidden_layers=6,
                hidden_size=384,
                num_attention_heads=6,
                intermediate_size=1024,
                torch_dtype="float32",
            )
        ),
        "tiny-ppo/prompts.jsonl": lines(clause_prompts(5, 2000)),
        "tiny-ppo/held-out.jsonl": lines(clause_prompts(6, 256)),
        "tiny-grpo/start.jsonl": lines(sort_examples(7, 8000)),
        "tiny-grpo/prompts.jsonl": lines(sort_prompts(8, 3000)),
        "tiny-grpo/held-out.jsonl": lines(sort_prompts(9, 256)),
        "tiny-grpo/model/config.json": document(config(16)),
        "tiny-grpo/model/tokenizer.json": document(sort_tokenizer()),
    }


def to_bf16(data):
    """Rounds little-endian fp32 numbers to the nearest bf16, ties to even."""
    numbers = array.array("I", data)
    if sys.byteorder == "big":
        numbers.byteswap()
    rounded = array.array("H", ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16 for bits in numbers))
    if sys.byteorder == "big":
        rounded.byteswap()
    return rounded.tobytes()


def convert_to_bf16(source, target):
    """Converts a safetensors file whose tensors are all fp32. Names, shapes, order and metadata stay."""
    content = Path(source).read_bytes()
    (length,) = struct.unpack_from("<Q", content)
    header = json.loads(content[8 : 8 + length])
    for name, tensor in header.items():
        if name == "__metadata__":
            continue
        if tensor["dtype"] != "F32":
            sys.exit(f"{source}: tensor {name} is {tensor['dtype']}; accepted: F32")
        tensor["dtype"] = "BF16"
        tensor["data_offsets"] = [offset // 2 for offset in tensor["data_offsets"]]
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    Path(target).write_bytes(struct.pack("<Q", len(text)) + text + to_bf16(content[8 + length :]))


def main():
    if sys.argv[1:2] == ["--bf16"] and len(sys.argv) == 4:
        convert_to_bf16(*sys.argv[2:])
        return
    check = sys.argv[1:] == ["--check"]
    if sys.argv[1:] and not check:
        sys.exit("usage: make.py [--check | --bf16 IN OUT]")
    wrong = []
    for name, content in files().items():
        path = HERE / name
        if check:
            if name in NOT_IN_GIT and not path.exists():
                continue
            if not path.exists() or path.read_text(encoding="utf-8") != content:
                wrong.append(name)
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    for name in wrong:
        print(f"{name}: differs from make.py's output")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
