// read_workload() of workflow_file.h.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/fields.h"
#include "workflow/lengths_file.h"
#include "workflow/workflow_file.h"

namespace dovetail::workflow {
namespace {

using base::Node;
using base::quote;
using base::Result;
using base::Status;

/// The whole number of a key that need not be there.
template <class Whole>
Status read_optional(const Node& map, std::string_view key, std::int64_t least, std::int64_t most, Whole& value) {
  const std::optional<Node> node = map.find(key);
  if (!node) return {};
  DOVETAIL_TRY(const std::int64_t whole, base::read_whole(*node, quote(key), least, most));
  value = static_cast<Whole>(whole);
  return {};
}

/// `mini_batches` or `mini_batch` of a map, of so many samples.
Status read_mini_batches(const Node& map, std::int64_t of_samples, std::int64_t& mini_batches) {
  DOVETAIL_CHECK(read_optional(map, "mini_batches", 1, of_samples, mini_batches));
  const std::optional<Node> size = map.find("mini_batch");
  if (!size) return {};
  if (map.find("mini_batches")) return size->error("both `mini_batch` and `mini_batches` are there; accepted: either");
  DOVETAIL_TRY(const std::int64_t samples, base::read_whole(*size, "`mini_batch`", 1, of_samples));
  if (of_samples % samples != 0)
    return size->error(
        fmt::format("`mini_batch` is {}; accepted: a divisor of {}, the samples of an iteration", samples, of_samples));
  mini_batches = of_samples / samples;
  return {};
}

/// How the critic is trained where that is another way than the other roles are: what its map leaves out is theirs.
Status read_critic(const Node& node, Workload& workload) {
  DOVETAIL_CHECK(base::check_keys(node, "`critic`", {"mini_batches", "mini_batch", "epochs"}));
  OwnTraining own{workload.mini_batches, workload.epochs};
  DOVETAIL_CHECK(read_mini_batches(node, workload.samples(), own.mini_batches));
  DOVETAIL_CHECK(read_optional(node, "epochs", 1, max_epoch_count, own.epochs));
  if (own != OwnTraining{workload.mini_batches, workload.epochs}) workload.critic = own;
  return {};
}

/// Where prompt and response end together: responses end there.
Status read_sequence_cap(const Node& node, Workload& workload) {
  const std::int64_t prompt = workload.prompt_length.longest();
  DOVETAIL_TRY(workload.sequence_cap, base::read_whole(node, "`sequence_cap`", 2, max_length));
  if (workload.sequence_cap <= prompt)
    return node.error(fmt::format(
        "`sequence_cap` is {}, and prompts have up to {} tokens; accepted: shorter prompts, or a cap from {} to {}",
        workload.sequence_cap, prompt, prompt + 1, max_length));
  set_responses(workload, workload.response_length);
  return {};
}

/// The most that an iteration may work on; padded sequences are as long as the longest.
Status check_tokens(const Node& prompts, const Workload& workload) {
  const LengthDistribution& prompt = workload.prompt_length;
  const LengthDistribution& response = workload.response_length;
  const double each = workload.packing ? prompt.mean() + response.mean() : static_cast<double>(workload.max_sequence());
  const int epochs = std::max(workload.epochs, workload.critic ? workload.critic->epochs : 1);
  const double tokens = each * static_cast<double>(workload.samples()) * epochs;
  if (tokens <= static_cast<double>(max_token_count)) return {};
  return prompts.error(
      fmt::format("an iteration works on {:.3g} tokens: {} samples of {:.0f}, {} times; accepted: {} at most", tokens,
                  workload.samples(), each, epochs, max_token_count));
}

}  // namespace

Result<Workload> read_workload(const Node& node, const std::string& directory) {
  const std::string_view what = "the workload";
  DOVETAIL_CHECK(
      base::check_keys(node, what,
                       {"prompts", "samples_per_prompt", "mini_batches", "mini_batch", "epochs", "prompt_length",
                        "response_length", "steps_off_policy", "packing", "critic", "sequence_cap"}));
  DOVETAIL_TRY(const Node prompts, base::require(node, what, "prompts"));
  DOVETAIL_TRY(const Node prompt_length,
               base::require(node, what, "prompt_length", "a number of tokens, or figures of them"));
  DOVETAIL_TRY(const Node response_length,
               base::require(node, what, "response_length", "a number of tokens, or figures of them"));
  DOVETAIL_TRY(LengthDistribution prompt_lengths, read_lengths(prompt_length, "`prompt_length`", directory));
  DOVETAIL_TRY(LengthDistribution response_lengths, read_lengths(response_length, "`response_length`", directory));
  Workload workload{.prompt_length = std::move(prompt_lengths), .response_length = std::move(response_lengths)};
  if (const auto cap = node.find("sequence_cap")) DOVETAIL_CHECK(read_sequence_cap(*cap, workload));
  if (workload.max_sequence() > max_length)
    return response_length.error(fmt::format(
        "prompts of up to {} tokens and responses of up to {} are longer than {} together; accepted: {} at most",
        workload.prompt_length.longest(), workload.response_length.longest(), max_length, max_length));
  DOVETAIL_TRY(workload.prompts, base::read_whole(prompts, "`prompts`", 1, max_sample_count));
  DOVETAIL_CHECK(
      read_optional(node, "samples_per_prompt", 1, max_sample_count / workload.prompts, workload.samples_per_prompt));
  DOVETAIL_CHECK(read_mini_batches(node, workload.samples(), workload.mini_batches));
  DOVETAIL_CHECK(read_optional(node, "epochs", 1, max_epoch_count, workload.epochs));
  DOVETAIL_CHECK(read_optional(node, "steps_off_policy", 0, max_steps_off_policy, workload.steps_off_policy));
  if (const auto packing = node.find("packing")) {
    DOVETAIL_TRY(workload.packing, base::read_flag(*packing, "packing"));
  }
  if (const auto critic = node.find("critic")) DOVETAIL_CHECK(read_critic(*critic, workload));
  DOVETAIL_CHECK(check_tokens(prompts, workload));
  return workload;
}

}  // namespace dovetail::workflow
