// Data of a run as tokens, checked against the models before the run starts, and the order in which it is read.
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

/// Returns a random permutation of [0, count) that depends only on the arguments. Permutations that differ in `purpose`
/// (what is shuffled) or `index` (such as the epoch) are independent.
std::vector<std::size_t> permutation(std::uint64_t seed, std::uint64_t purpose, std::uint64_t index, std::size_t count);

/// An item of the data, in one of the passes over the data.
struct DataPlace {
  std::uint64_t epoch = 0;
  std::size_t index = 0;

  friend bool operator==(const DataPlace&, const DataPlace&) = default;
};

/// Returns the `batch` items that iteration number `iteration` (from 0) reads from data of `count` items. Epochs follow
/// each other without a gap, so an iteration may end one epoch and begin the next. With `shuffle`, each epoch is
/// shuffled separately; otherwise, all have the order of the data. REQUIRES: count >= 1.
std::vector<DataPlace> places_of(std::uint64_t seed, bool shuffle, std::size_t count, std::int64_t iteration,
                                 std::int64_t batch);

/// Returns the number of iterations that complete `epochs` passes over `count` items, with `batch` items per iteration.
/// The last iteration may begin another pass.
std::int64_t iterations_of(std::int64_t epochs, std::size_t count, std::int64_t batch);

/// Limits that the models set for the data: the smallest vocabulary and context of all models, and the end tokens of
/// the actor, or of the first model if the job has no actor.
struct ModelLimits {
  std::int64_t vocabulary = 0;
  std::int64_t context = 0;         ///< tokens of a sequence
  std::vector<TokenId> end_tokens;  ///< tokens that end a text
};

struct PromptTokens {
  std::vector<TokenId> tokens;
  std::string text;
  std::string answer;  ///< JSON; empty if absent
};

/// Text to imitate. sequence.first_scored is the index of its first learned token.
struct ExampleTokens {
  TokenSequence sequence;
  std::vector<bool> learned;  ///< [scored token] true if the token is learned
};

/// Two responses to one prompt. Both sequences are scored from the start of the response.
struct PairTokens {
  TokenSequence chosen;
  TokenSequence rejected;
};

/// One data file. Only the member that the algorithm reads is filled.
struct RunDataset {
  std::vector<PromptTokens> prompts;
  std::vector<ExampleTokens> examples;
  std::vector<PairTokens> pairs;

  std::size_t size() const { return prompts.size() + examples.size() + pairs.size(); }
};

struct RunInputs {
  text::Tokenizer tokenizer;
  std::vector<TokenId> ends;  ///< tokens that end a response: the chat template's, then ModelLimits::end_tokens
  RunDataset train;
  RunDataset validation;  ///< empty if absent
};

/// Returns a SHA-256 over the contents of the tokenizer, the data files, and the words of the reward command that are
/// files. Weights are not included. Returns an Error if a file cannot be read.
base::Result<std::string> hash_of_inputs(const RunSettings& settings);

/// Reads the tokenizer and all data of a run with this algorithm. With the chat template `none`, appends the first of
/// RunInputs::ends, if any, to each text to imitate and each response of a pair that does not end with an end token.
/// `max_response` is the cap of a sampled response in tokens.
///
/// Errors name the file and, for data, the line. Besides the errors of text::parse_prompts and its variants, they
/// report a tokenizer that does not fit the model or the chat template, a text without tokens or without a learned
/// token, and a text (or a prompt plus max_response) that exceeds the context. An end token outside the vocabulary is
/// an Error without a file.
base::Result<RunInputs> read_inputs(const RunSettings& settings, std::string_view algorithm, const ModelLimits& limits,
                                    std::int64_t max_response);

}  // namespace dovetail::control
