#include "runtime/generation/generator.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/assert.h"
#include "kernels/rows.h"
#include "learn/sampling.h"

namespace dovetail::runtime {

/// Sequence that has been admitted. It may have been preempted since.
struct Generator::Running {
  BlockTable blocks;
  text::StopFinder stops;
  bool is_in = false;  ///< holds cache blocks
};

namespace {

std::int64_t blocks_for(std::int64_t tokens) { return (tokens + batching::cache_block - 1) / batching::cache_block; }

std::int64_t tokens_of(const control::GenerationRequest& request) {
  return static_cast<std::int64_t>(request.prompt.size());
}

bool is_end(const control::GenerationSettings& settings, control::TokenId token) {
  return std::find(settings.ends.begin(), settings.ends.end(), token) != settings.ends.end();
}

/// Draws the next token. Excludes tokens that end the response unless `may_end`.
control::TokenId draw(std::span<const float> logits, const control::GenerationSettings& settings,
                      const learn::DrawKey& key, bool may_end) {
  const double uniform = learn::uniform_of(key);
  if (may_end || settings.ends.empty()) return learn::sample(logits, settings.limits, uniform);
  std::vector<float> allowed(logits.begin(), logits.end());
  for (const control::TokenId end : settings.ends)
    allowed[static_cast<std::size_t>(end)] = -std::numeric_limits<float>::infinity();
  return learn::sample(allowed, settings.limits, uniform);
}

/// Returns the log-probability over all tokens, ignoring the sampling limits. It is bit-equal to the trainer's.
double log_probability_of(std::span<const float> logits, double temperature, control::TokenId token) {
  const double divisor = temperature > 0 ? temperature : 1;
  const kernels::TokenDistribution distribution =
      kernels::distribution_of(logits.data(), static_cast<std::int64_t>(logits.size()), divisor);
  return kernels::log_probability(distribution, logits.data(), divisor, token);
}

}  // namespace

batching::EngineLimits Generator::limits_of(const Model& model, std::span<const control::GenerationRequest> requests,
                                            const control::GenerationSettings& settings, std::int64_t cache_bytes) {
  batching::EngineLimits limits;
  limits.sequences = settings.engine.max_num_seqs;
  limits.batched_tokens = settings.engine.max_num_batched_tokens;
  limits.chunked_prefill = settings.engine.chunked_prefill;
  std::int64_t max_prompt = 1;
  for (const control::GenerationRequest& request : requests) max_prompt = std::max(max_prompt, tokens_of(request));
  // A step reserves space for one more token than will be generated.
  const std::int64_t of_one = blocks_for(max_prompt) + blocks_for(settings.max_tokens + 1);
  const auto running = std::min(limits.sequences, static_cast<std::int64_t>(requests.size()));
  const std::int64_t bytes = BlockCache::block_bytes(model.weights.shape, limits.block_tokens, sizeof(float));
  limits.blocks = std::max(of_one, std::min(cache_bytes / bytes, of_one * running));
  return limits;
}

Generator::Generator(const Model& model, std::span<const control::GenerationRequest> requests,
                     const control::GenerationSettings& settings, std::int64_t cache_bytes)
    : model_(model),
      requests_(requests),
      settings_(settings),
      limits_(limits_of(model, requests, settings, cache_bytes)),
      scheduler_(limits_),
      cache_(model.weights.shape, limits_.blocks, batching::cache_block, model.embedding->value.options()),
      running_(requests.size()),
      responses_(requests.size()) {
  for (std::size_t index = 0; index < requests.size(); ++index) {
    batching::Sequence sequence;
    sequence.id = index;
    sequence.prompt = tokens_of(requests[index]);
    sequence.group = requests[index].group;
    scheduler_.arrive(sequence);
  }
}

Generator::~Generator() = default;

void Generator::enter(std::size_t index) {
  const control::GenerationRequest& request = requests_[index];
  SharedPrompt& prompt = prompts_[request.group];
  if (prompt.holders++ == 0)
    for (std::int64_t i = 0; i < blocks_for(tokens_of(request)); ++i) prompt.blocks.push_back(cache_.take());
  std::unique_ptr<Running>& running = running_[index];
  if (running == nullptr) running = std::make_unique<Running>(Running{{}, text::StopFinder(settings_.stops), false});
  running->blocks = {tokens_of(request), prompt.blocks, {}};
  running->is_in = true;
}

void Generator::leave(std::size_t index) {
  Running& running = *running_[index];
  cache_.release(running.blocks.own);
  const auto prompt = prompts_.find(requests_[index].group);
  if (--prompt->second.holders == 0) {
    cache_.release(prompt->second.blocks);
    prompts_.erase(prompt);
  }
  running.blocks = {};
  running.is_in = false;
}

void Generator::add_part(StepRows& rows, std::size_t index, std::int64_t first, std::int64_t count, bool is_cached) {
  const std::vector<control::TokenId>& prompt = requests_[index].prompt;
  const std::vector<control::TokenId>& response = responses_[index].tokens;
  BlockTable& blocks = running_[index]->blocks;
  for (std::int64_t position = first; position < first + count; ++position) {
    const auto at = static_cast<std::size_t>(position);
    rows.tokens.push_back(at < prompt.size() ? prompt[at] : response[at - prompt.size()]);
  }
  const std::int64_t own = std::max<std::int64_t>(0, first + count - blocks.prompt_tokens);
  while (static_cast<std::int64_t>(blocks.own.size()) < blocks_for(own)) blocks.own.push_back(cache_.take());
  rows.parts.push_back({&blocks, first, count, is_cached});
}

StepRows Generator::rows_of(const batching::EngineStep& step) {
  StepRows rows;
  const std::vector<batching::Sequence>& running = scheduler_.running();
  for (const batching::Chunk& chunk : step.chunks) {
    const batching::Sequence& sequence = running[chunk.place];
    add_part(rows, sequence.id, sequence.tokens() - sequence.to_compute, chunk.tokens, false);
  }
  for (const std::size_t place : step.decoding) {
    const batching::Sequence& sequence = running[place];
    rows.logit_rows.push_back(static_cast<std::int64_t>(rows.tokens.size()));
    // The prompt's last token was already computed with the prompt.
    add_part(rows, sequence.id, sequence.tokens() - 1, 1, sequence.done == 0);
  }
  return rows;
}

bool Generator::take_token(std::size_t index, std::span<const float> logits) {
  control::GeneratedResponse& response = responses_[index];
  const auto count = static_cast<std::int64_t>(response.tokens.size());
  learn::DrawKey key = requests_[index].key;
  key.position += static_cast<std::uint64_t>(count);
  const bool may_end = count + 1 > settings_.min_tokens;
  const control::TokenId token = draw(logits, settings_, key, may_end);
  response.tokens.push_back(token);
  response.log_probabilities.push_back(log_probability_of(logits, settings_.limits.temperature, token));
  if (!settings_.stops.empty()) {
    const std::string bytes = settings_.tokenizer->bytes_of(std::span(&response.tokens.back(), 1));
    const std::optional<std::size_t> before = running_[index]->stops.add(bytes);
    if (before && may_end) {
      response.text_bytes = before;
      response.ended = true;
    }
  }
  response.ended = response.ended || is_end(settings_, token);
  return response.ended || count + 1 == settings_.max_tokens;
}

void Generator::advance(const std::function<void(std::size_t index, const control::GeneratedResponse&)>& on_response) {
  const batching::EngineStep step = scheduler_.next();
  for (const std::size_t index : step.preempted) leave(index);
  const std::vector<batching::Sequence>& running = scheduler_.running();
  for (std::size_t place = running.size() - step.admitted; place < running.size(); ++place) enter(running[place].id);
  const StepRows rows = rows_of(step);
  const Tensor logits = forward_step(model_, cache_, rows);
  std::vector<std::size_t> ended;
  for (std::size_t i = 0; i < step.decoding.size(); ++i) {
    const std::size_t index = running[step.decoding[i]].id;
    const float* const row = logits.data_ptr<float>() + static_cast<std::int64_t>(i) * logits.size(1);
    if (take_token(index, {row, static_cast<std::size_t>(logits.size(1))})) ended.push_back(step.decoding[i]);
  }
  for (const std::size_t place : ended) {
    const std::size_t index = running[place].id;
    leave(index);
    if (on_response) on_response(index, responses_[index]);
  }
  scheduler_.advance(1);
  scheduler_.finish(ended);
}

std::vector<control::GeneratedResponse> Generator::take_responses() {
  DOVETAIL_ASSERT(is_done());
  return std::move(responses_);
}

}  // namespace dovetail::runtime
