// The data of a run as tokens, checked against the models before anything runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "control/models.h"
#include "control/run_settings.h"
#include "text/tokenizer.h"

namespace dovetail::control {

/// What data must fit: the smallest of all models that read it.
struct ModelLimits {
  std::int64_t vocabulary = 0;
  std::int64_t context = 0;         ///< tokens of a sequence
  std::vector<TokenId> end_tokens;  ///< that end a text
};

struct PromptTokens {
  std::vector<TokenId> tokens;
  std::string text;
  std::string answer;  ///< JSON; empty: none
};

/// A text to imitate: sequence.first_scored is its first learned token.
struct ExampleTokens {
  TokenSequence sequence;
  std::vector<bool> learned;  ///< [scored token]
};

/// Two responses to one prompt. Both sequences are scored from their responses on.
struct PairTokens {
  TokenSequence chosen;
  TokenSequence rejected;
};

/// One file of data; what the algorithm reads is filled.
struct RunDataset {
  std::vector<PromptTokens> prompts;
  std::vector<ExampleTokens> examples;
  std::vector<PairTokens> pairs;

  std::size_t size() const { return prompts.size() + examples.size() + pairs.size(); }
};

struct RunInputs {
  text::Tokenizer tokenizer;
  std::vector<TokenId> ends;  ///< tokens that end a response: the models', and what ends a turn of the chat template
  RunDataset train;
  RunDataset validation;  ///< empty: there is none
};

/// The SHA-256 of what a run reads while it goes on: the tokenizer, the data, and the files among the words of the
/// reward command. With others it would go on to other numbers. An Error where a file cannot be read.
base::Result<std::string> hash_of_inputs(const RunSettings& settings);

/// Reads the tokenizer and all data of a run under that algorithm. Texts to imitate and both responses of a pair end
/// with the first of `ends` where neither they nor the template have an end of their own. `max_response`: tokens of a
/// sampled response. Errors, by file and line: what text::parse_prompts and its like find; a tokenizer that has more
/// tokens than the model; a text without tokens; one that is longer than the context, a prompt also with max_response
/// behind it.
base::Result<RunInputs> read_inputs(const RunSettings& settings, std::string_view algorithm, const ModelLimits& limits,
                                    std::int64_t max_response);

}  // namespace dovetail::control
