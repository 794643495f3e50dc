#include "control/data/run_inputs.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <utility>

#include "base/assert.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/random.h"
#include "text/data.h"

namespace dovetail::control {
namespace {

constexpr std::uint64_t order_of_data = 1;

namespace fs = std::filesystem;
using base::Error;
using base::Failure;
using base::Result;
using base::Status;
using text::Frame;

/// Converts the texts of a file to tokens.
class DataReader {
 public:
  DataReader(const RunSettings& settings, const RunInputs& inputs, const ModelLimits& limits, std::int64_t max_response)
      : template_(settings.data.chat_template), inputs_(inputs), limits_(limits), max_response_(max_response) {}

  Result<RunDataset> read(const std::string& path, std::string_view algorithm) {
    path_ = path;
    DOVETAIL_TRY(const std::string content, base::read_file(path));
    RunDataset data;
    DOVETAIL_CHECK(algorithm == "sft"            ? read_examples(content, data)
                   : algorithm == "reward_model" ? read_pairs(content, data)
                                                 : read_prompts(content, data));
    return data;
  }

 private:
  Error error_at(int line, std::string message) const {
    return {Failure::bad_input, path_, line, 1, std::move(message)};
  }

  Status encode(std::string_view text, Frame frame, int line, std::vector<TokenId>& tokens) const {
    const auto more = inputs_.tokenizer.encode(text, frame);
    if (!more.ok()) return error_at(line, more.error().message);
    tokens.insert(tokens.end(), more->begin(), more->end());
    return {};
  }

  Status check_length(std::size_t count, int line, std::string_view what) const {
    const auto tokens = static_cast<std::int64_t>(count);
    if (tokens <= limits_.context) return {};
    return error_at(line, fmt::format("{} has {} tokens; at most {} are accepted (smallest context of the models)",
                                      what, tokens, limits_.context));
  }

  /// Adds an end token to a text that does not end with one, unless the chat template has an end of turn.
  void add_end(std::vector<TokenId>& tokens) const {
    const std::vector<TokenId>& ends = inputs_.ends;
    if (!text::end_of_turn(template_).empty() || ends.empty()) return;
    if (tokens.empty() || std::find(ends.begin(), ends.end(), tokens.back()) == ends.end())
      tokens.push_back(ends.front());
  }

  Status read_prompts(const std::string& content, RunDataset& data) const {
    DOVETAIL_TRY(std::vector<text::Prompt> prompts, text::parse_prompts(content, path_, template_));
    for (text::Prompt& prompt : prompts) {
      PromptTokens read{{}, std::move(prompt.text), std::move(prompt.answer)};
      DOVETAIL_CHECK(encode(read.text, Frame::added, prompt.line, read.tokens));
      if (read.tokens.empty()) return error_at(prompt.line, "the prompt has no tokens; at least one is required");
      const std::int64_t space = limits_.context - max_response_;
      const auto tokens = static_cast<std::int64_t>(read.tokens.size());
      if (tokens > space)
        return error_at(prompt.line, fmt::format("the prompt has {} tokens and its response up to {}; at most {} "
                                                 "together are accepted (smallest context of the models)",
                                                 tokens, max_response_, limits_.context));
      data.prompts.push_back(std::move(read));
    }
    return {};
  }

  Status read_examples(const std::string& content, RunDataset& data) const {
    DOVETAIL_TRY(const std::vector<text::Example> examples, text::parse_examples(content, path_, template_));
    for (const text::Example& example : examples) {
      DOVETAIL_TRY(ExampleTokens read, tokens_of(example));
      DOVETAIL_CHECK(check_length(read.sequence.tokens.size(), example.line, "the text"));
      data.examples.push_back(std::move(read));
    }
    return {};
  }

  Result<ExampleTokens> tokens_of(const text::Example& example) const {
    ExampleTokens read;
    std::vector<bool> learned;
    for (const text::Segment& segment : example.segments) {
      const bool is_first = &segment == &example.segments.front();
      DOVETAIL_CHECK(encode(segment.text, is_first ? Frame::added : Frame::none, example.line, read.sequence.tokens));
      learned.resize(read.sequence.tokens.size(), segment.learned);
    }
    add_end(read.sequence.tokens);
    learned.resize(read.sequence.tokens.size(), true);
    // The first token has no predecessor, so it cannot be learned.
    const auto first = std::find(learned.begin() + (learned.empty() ? 0 : 1), learned.end(), true);
    if (first == learned.end())
      return error_at(example.line,
                      "the text has no token to learn; at least one token after the first must be learned");
    read.sequence.first_scored = static_cast<std::size_t>(first - learned.begin());
    read.learned.assign(first, learned.end());
    return read;
  }

  Status read_pairs(const std::string& content, RunDataset& data) const {
    DOVETAIL_TRY(const std::vector<text::Preference> pairs, text::parse_preferences(content, path_, template_));
    for (const text::Preference& pair : pairs) {
      DOVETAIL_TRY(TokenSequence chosen, sequence_of(pair.prompt, pair.chosen, pair.line, "`chosen`"));
      DOVETAIL_TRY(TokenSequence rejected, sequence_of(pair.prompt, pair.rejected, pair.line, "`rejected`"));
      data.pairs.push_back({std::move(chosen), std::move(rejected)});
    }
    return {};
  }

  Result<TokenSequence> sequence_of(const std::string& prompt, const std::string& response, int line,
                                    std::string_view what) const {
    TokenSequence sequence;
    DOVETAIL_CHECK(encode(prompt, Frame::added, line, sequence.tokens));
    if (sequence.tokens.empty()) return error_at(line, "the prompt has no tokens; at least one is required");
    sequence.first_scored = sequence.tokens.size();
    DOVETAIL_CHECK(encode(response + std::string(text::end_of_turn(template_)), Frame::none, line, sequence.tokens));
    add_end(sequence.tokens);
    if (sequence.scored() == 0) return error_at(line, fmt::format("{} has no tokens; at least one is required", what));
    DOVETAIL_CHECK(check_length(sequence.tokens.size(), line, fmt::format("{} with its prompt", what)));
    return sequence;
  }

  const text::ChatTemplate template_;
  const RunInputs& inputs_;
  const ModelLimits& limits_;
  const std::int64_t max_response_;
  std::string path_;
};

/// Returns the end tokens of the models, and the token that ends a turn.
Result<std::vector<TokenId>> ends_of(const RunSettings& settings, const text::Tokenizer& tokenizer,
                                     const ModelLimits& limits, const std::string& path) {
  std::vector<TokenId> ends;
  if (const std::string_view turn = text::end_of_turn(settings.data.chat_template); !turn.empty()) {
    const auto token = tokenizer.find(turn);
    if (!token)
      return Error{Failure::bad_input, path, 0, 0,
                   fmt::format("the tokenizer has no token \"{}\", which ends a turn with `template: {}`; use the "
                               "`template` that the model was trained with",
                               turn, base::enum_name(settings.data.chat_template))};
    ends.push_back(*token);
  }
  for (const TokenId token : limits.end_tokens) {
    if (token >= limits.vocabulary)
      return base::bad_input(fmt::format(
          "a model's `eos_token_id` is {}; it must be less than {}, the smallest vocabulary size of the models", token,
          limits.vocabulary));
    if (std::find(ends.begin(), ends.end(), token) == ends.end()) ends.push_back(token);
  }
  return ends;
}

}  // namespace

std::vector<std::size_t> permutation(std::uint64_t seed, std::uint64_t purpose, std::uint64_t index,
                                     std::size_t count) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  base::Random random(seed, base::scatter(purpose) ^ index);
  for (std::size_t left = count; left > 1; --left)
    std::swap(order[left - 1], order[random.below(static_cast<std::uint32_t>(left))]);
  return order;
}

std::vector<DataPlace> places_of(std::uint64_t seed, bool shuffle, std::size_t count, std::int64_t iteration,
                                 std::int64_t batch) {
  DOVETAIL_ASSERT(count >= 1);
  std::vector<DataPlace> places;
  std::vector<std::size_t> order;
  std::uint64_t order_epoch = 0;
  for (std::int64_t i = 0; i < batch; ++i) {
    const auto position = static_cast<std::uint64_t>(iteration * batch + i);
    const std::uint64_t epoch = position / count;
    const auto within = static_cast<std::size_t>(position % count);
    if (shuffle && (order.empty() || order_epoch != epoch)) order = permutation(seed, order_of_data, epoch, count);
    order_epoch = epoch;
    places.push_back({epoch, shuffle ? order[within] : within});
  }
  return places;
}

std::int64_t iterations_of(std::int64_t epochs, std::size_t count, std::int64_t batch) {
  return (epochs * static_cast<std::int64_t>(count) + batch - 1) / batch;
}

Result<std::string> hash_of_inputs(const RunSettings& settings) {
  std::vector<fs::path> files{fs::path(settings.tokenizer) / "tokenizer.json", settings.data.train};
  if (!settings.data.validation.empty()) files.emplace_back(settings.data.validation);
  if (settings.reward)
    for (const std::string& word : settings.reward->command) {
      const fs::path file = fs::path(settings.folder) / word;
      std::error_code ignored;
      if (fs::is_regular_file(file, ignored)) files.push_back(file);
    }
  std::string hashes;
  for (const fs::path& file : files) {
    DOVETAIL_TRY(const std::string content, base::read_file(file.string()));
    hashes += base::sha256_hex(content);
  }
  return base::sha256_hex(hashes);
}

Result<RunInputs> read_inputs(const RunSettings& settings, std::string_view algorithm, const ModelLimits& limits,
                              std::int64_t max_response) {
  const std::string path = (fs::path(settings.tokenizer) / "tokenizer.json").string();
  DOVETAIL_TRY(text::Tokenizer tokenizer, text::Tokenizer::read(path));
  if (static_cast<std::int64_t>(tokenizer.size()) > limits.vocabulary)
    return Error{Failure::bad_input, path, 0, 0,
                 fmt::format("the tokenizer has token ids up to {}, but a model's vocabulary has only {} tokens; use "
                             "the models' own tokenizer",
                             tokenizer.size() - 1, limits.vocabulary)};
  DOVETAIL_TRY(std::vector<TokenId> ends, ends_of(settings, tokenizer, limits, path));
  RunInputs inputs{std::move(tokenizer), std::move(ends), {}, {}};
  DataReader reader(settings, inputs, limits, max_response);
  DOVETAIL_TRY(inputs.train, reader.read(settings.data.train, algorithm));
  if (settings.data.validation.empty()) return inputs;
  DOVETAIL_TRY(inputs.validation, reader.read(settings.data.validation, algorithm));
  return inputs;
}

}  // namespace dovetail::control
