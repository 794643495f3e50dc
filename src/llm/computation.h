// What a program that computes a transformer must know beyond its shape.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/document.h"
#include "base/result.h"
#include "llm/transformer.h"

namespace dovetail::llm {

/// How low frequencies of rotary embeddings are stretched for long contexts (Llama 3.1).
struct Llama3Scaling {
  double factor = 8;
  double low_frequency_factor = 1;
  double high_frequency_factor = 4;
  std::int64_t original_context = 8192;

  friend bool operator==(const Llama3Scaling&, const Llama3Scaling&) = default;
};

struct Computation {
  double rotary_base = 10'000;  ///< rope_theta
  double rotary_factor = 1;     ///< positions are divided by it ("linear" scaling)
  std::optional<Llama3Scaling> llama3 = {};
  double norm_epsilon = 1e-6;
  std::int64_t context = 2048;                ///< tokens of a sequence at most
  std::vector<std::int32_t> end_tokens = {};  ///< that end a text
  std::optional<std::int32_t> begin_token = {};
  std::optional<std::int32_t> pad_token = {};
  std::string number_type = "float32";  ///< of the weights in files: torch_dtype

  friend bool operator==(const Computation&, const Computation&) = default;
};

/// Reads it from the map of a config.json, as transformers 4 and 5 write it (rope_theta and rope_scaling, or
/// rope_parameters; torch_dtype, or dtype), whose shape is `shape`. An Error names the key and place of what cannot be
/// computed: a family other than llama, mistral, qwen2 and qwen3, windows shorter than the context, other scalings of
/// rotary embeddings, dropout, other activations than silu, quantized weights.
base::Result<Computation> parse_computation(const base::Node& config, const Transformer& shape);

/// The frequency of each pair of a head, [size / 2], in radians a position: base^(-2 i / size), scaled. In single
/// precision, as the transformers library has them.
std::vector<float> rotary_frequencies(const Computation& computation, std::int64_t head_size);

}  // namespace dovetail::llm
