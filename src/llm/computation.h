// Settings that computing a transformer needs in addition to its shape, and config.json files with both.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/document.h"
#include "base/result.h"
#include "llm/transformer.h"

namespace dovetail::llm {

/// Scaling of rotary embeddings for long contexts: divides low frequencies by `factor` (Llama 3.1).
struct Llama3Scaling {
  double factor = 8;
  double low_frequency_factor = 1;
  double high_frequency_factor = 4;
  std::int64_t original_context = 8192;

  friend bool operator==(const Llama3Scaling&, const Llama3Scaling&) = default;
};

struct Computation {
  double rotary_base = 10'000;  ///< rope_theta
  double rotary_factor = 1;     ///< divisor of positions ("linear" scaling)
  std::optional<Llama3Scaling> llama3 = {};
  double norm_epsilon = 1e-6;
  std::int64_t context = 2048;                ///< maximum tokens of a sequence
  std::vector<std::int32_t> end_tokens = {};  ///< tokens that end a sequence
  std::optional<std::int32_t> begin_token = {};
  std::optional<std::int32_t> pad_token = {};
  std::string number_type = "float32";  ///< type of the weights in files: torch_dtype or dtype

  friend bool operator==(const Computation&, const Computation&) = default;
};

/// Reads the settings from the map of a config.json for a model with this `shape`. Accepts the formats of transformers
/// 4 and 5 (rope_theta and rope_scaling, or rope_parameters; torch_dtype, or dtype).
///
/// An Error has the position of an unsupported setting, such as a family other than llama, mistral, qwen2 and qwen3, an
/// attention window shorter than the context, a rotary scaling other than linear and llama3, dropout, an activation
/// other than silu, or quantized weights.
base::Result<Computation> parse_computation(const base::Node& config, const Transformer& shape);

/// Returns the rotary frequencies of a head, one for each pair of its elements ([size / 2]), in radians per position:
/// base^(-2 i / size), scaled. Single precision, as in the transformers library.
std::vector<float> rotary_frequencies(const Computation& computation, std::int64_t head_size);

/// Returns the text of a config.json for a model with this shape and computation. parse_config and parse_computation
/// read it back. The model's family is llama, or qwen2 or qwen3 if the biases or head norms require it. REQUIRES:
/// parse_computation supports the shape.
std::string config_text(const Transformer& shape, const Computation& computation);

}  // namespace dovetail::llm
