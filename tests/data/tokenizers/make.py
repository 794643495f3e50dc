"""Makes the files beside it: small tokenizers with the parts that models in use have, and what the library tokenizers,
an oracle that shares no code with Dovetail, says of some texts.

usage: make.py   (needs the Python package tokenizers; 0.23 made what is here)
"""

import json
from pathlib import Path

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

HERE = Path(__file__).parent

# The patterns are those of the models' own tokenizer.json files.
LLAMA_3 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
QWEN_2 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)

TEXTS = [
    "",
    " ",
    "Two pipelines fill each other's bubbles, and the schedule that they share is 12.5% shorter.",
    "  leading and trailing blanks \t \n",
    "line one\nline two\r\n\r\n   line three",
    "I'm sure they've said we'll see; it's DON'T and I'D, isn't it?",
    "numbers 1 12 123 1234 12345 1234567, 3.14159, ½ and Ⅳ and ٣٤",
    "def f(x):\n    return x ** 2  # squared\n\n\tif x != 0: pass",
    "Ein Bär aß süße Äpfel; ça coûte 3 €, señor — déjà vu.",
    "e\u0301 is é in another form, and n\u0303 is ñ",
    "Привет, мир! Как дела? Очень хорошо.",
    "Γειά σου Κόσμε, τι κάνεις;",
    "שלום עולם, מה שלומך?",
    "مرحبا بالعالم، كيف حالك؟",
    "नमस्ते दुनिया, आप कैसे हैं?",
    "สวัสดีชาวโลก สบายดีไหม",
    "你好，世界。今天天气很好！",
    "こんにちは世界、元気ですか。カタカナも",
    "안녕하세요 세계, 잘 지내세요?",
    "გამარჯობა მსოფლიო",
    "😀 👍🏽 👩‍👩‍👧 🇩🇪 ok",
    "zero\u200bwidth\u00a0space\u2003em\u3000wide\u0085next\u180emongolian",
    "a\x00b\x07c\x7f",
    "<|begin|>system<|end|>Hello <|end|> there<|begin|>",
    "  <mask>  stripped <mask>word<mask>",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "x" * 5 + " " * 9 + "y",
    "https://example.org/a?b=c&d=%20#e",
]

TOKENIZERS = {
    "gpt2": (None, pre_tokenizers.ByteLevel(add_prefix_space=False)),
    "llama3": (
        None,
        pre_tokenizers.Sequence(
            [
                pre_tokenizers.Split(Regex(LLAMA_3), behavior="isolated"),
                pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
            ]
        ),
    ),
    "qwen2": (
        normalizers.NFC(),
        pre_tokenizers.Sequence(
            [
                pre_tokenizers.Split(Regex(QWEN_2), behavior="isolated"),
                pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
            ]
        ),
    ),
    "smollm2": (
        None,
        pre_tokenizers.Sequence(
            [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
        ),
    ),
}


def make(name):
    normalizer, pre_tokenizer = TOKENIZERS[name]
    tokenizer = Tokenizer(models.BPE(ignore_merges=name == "llama3"))
    if normalizer:
        tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=420, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
    )
    tokenizer.train_from_iterator(TEXTS * 3, trainer)
    tokenizer.add_special_tokens(["<|begin|>", "<|end|>"])
    tokenizer.add_tokens([AddedToken("<mask>", lstrip=True, normalized=True), AddedToken("word", single_word=True)])
    tokenizer.post_processor = (
        processors.TemplateProcessing(
            single="<|begin|> $A", special_tokens=[("<|begin|>", tokenizer.token_to_id("<|begin|>"))]
        )
        if name == "llama3"
        else processors.ByteLevel(trim_offsets=False)
    )
    return tokenizer


def expected(tokenizer):
    rows = []
    for text in TEXTS:
        tokens = tokenizer.encode(text, add_special_tokens=False).ids
        rows.append(
            {
                "text": text,
                "tokens": tokens,
                "framed": tokenizer.encode(text).ids,
                "decoded": tokenizer.decode(tokens, skip_special_tokens=False),
                "halves": [tokenizer.decode(half) for half in (tokens[::2], tokens[1::2])],
            }
        )
    return rows


def main():
    answers = {}
    for name in TOKENIZERS:
        tokenizer = make(name)
        (HERE / f"{name}.json").write_text(tokenizer.to_str(pretty=False) + "\n")
        answers[name] = expected(tokenizer)
    (HERE / "expected.json").write_text(json.dumps(answers, indent=0) + "\n")


main()
