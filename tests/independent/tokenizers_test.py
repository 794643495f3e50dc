#!/usr/bin/env python3
"""Compares Dovetail's tokenizer with the tokenizers library on 2,000 random texts in ten scripts.

usage: tokenizers_test.py PROGRAM [--texts N] [--seed N]

PROGRAM is dovetail_text_ids. The vocabularies are trained here; only the normalization and pre-tokenization are
those of Llama 3, Qwen2, SmolLM2 and GPT-2. Needs a Python with tokenizers. Exits with 1 if anything differs.
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

# https://github.com/openai/tiktoken, cl100k_base; and the same with single-digit numbers, as in Qwen2.
LLAMA_3 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
QWEN_2 = LLAMA_3.replace(r"\p{N}{1,3}", r"\p{N}")
SCRIPTS = {
    "latin": (0x41, 0x17F), "greek": (0x391, 0x3CE), "cyrillic": (0x410, 0x44F), "hebrew": (0x5D0, 0x5EA),
    "arabic": (0x621, 0x64A), "devanagari": (0x904, 0x939), "thai": (0xE01, 0xE3A), "hangul": (0xAC00, 0xD7A3),
    "kana": (0x3041, 0x30FE), "han": (0x4E00, 0x9FA5),
}  # fmt: skip
BETWEEN = [" "] * 12 + [
    "  ",
    "\n",
    "\n\n",
    "\t",
    " \n ",
    "\r\n",
    ", ",
    ". ",
    "!? ",
    "-",
    "'s ",
    "'LL ",
    " (",
    ") ",
    "…",
    "\u00a0",
]
EXTRA = ["7", "42", "1234567", "3.14", "٣٤", "½", "e\u0301", "\u0928\u093c", "\U0001f600", "\U0001f468\u200d\U0001f469", "_x_",
         "<|end|>", "\u200b", "\ufb01", "I'm", "we'Ve", "https://a.b/c?d=e"]  # fmt: skip


def split(pattern):
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    return pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(pattern), "isolated"), byte_level])


def byte_level():
    return pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)


KINDS = {
    "llama 3": (None, lambda: split(LLAMA_3), True),
    "qwen2": (normalizers.NFC, lambda: split(QWEN_2), False),
    "smollm2": (
        None,
        lambda: pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), byte_level()]),
        False,
    ),
    "gpt-2": (None, byte_level, False),
}


def make_texts(count, draw):
    texts = []
    for number in range(count):
        first, last = list(SCRIPTS.values())[number % len(SCRIPTS)]
        text = ""
        for _ in range(draw.randrange(1, 30)):
            if draw.random() < 0.15:
                text += draw.choice(EXTRA)
            else:
                text += "".join(chr(draw.randint(first, last)) for _ in range(draw.randrange(1, 9)))
            text += draw.choice(BETWEEN)
        texts.append(text)
    return texts


def make_tokenizer(kind, texts):
    normalizer, pre_tokenizer, ignore_merges = KINDS[kind]
    tokenizer = Tokenizer(models.BPE(ignore_merges=ignore_merges))
    if normalizer is not None:
        tokenizer.normalizer = normalizer()
    tokenizer.pre_tokenizer = pre_tokenizer()
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=3000, initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.add_special_tokens([AddedToken("<|end|>", special=True, normalized=False)])
    return tokenizer


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--texts", type=int, default=2000, metavar="N")
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    arguments = parser.parse_args()
    draw, faults = random.Random(arguments.seed), 0
    learned, texts = make_texts(arguments.texts, draw), make_texts(arguments.texts, draw)
    lines = "".join(json.dumps(text) + "\n" for text in texts)
    for kind in KINDS:
        tokenizer = make_tokenizer(kind, learned)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "tokenizer.json"
            tokenizer.save(str(path))
            done = subprocess.run([arguments.program, path], input=lines, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"{kind}: {done.stderr}")
        different = 0
        for text, line in zip(texts, done.stdout.splitlines(), strict=True):
            ids, decoded = json.loads(line)
            expected = tokenizer.encode(text, add_special_tokens=False).ids
            same = ids == expected and decoded == tokenizer.decode(expected, skip_special_tokens=False)
            if not same and different < 3:
                print(f"{kind}: {text!r}: {ids}, expected {expected}")
            different += not same
        print(f"{kind}: {different} of {len(texts)} texts differ")
        faults += different
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
