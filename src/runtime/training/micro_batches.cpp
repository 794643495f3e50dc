#include "runtime/training/micro_batches.h"

#include <algorithm>
#include <cstdint>

#include "base/assert.h"
#include "batching/assignment.h"
#include "batching/micro_batches.h"

namespace dovetail::runtime {
namespace {

batching::Assignment assign(const std::vector<std::int64_t>& lengths, const plan::MicroBatching& micro_batching) {
  if (micro_batching.count > 0) return batching::exactly(lengths, static_cast<std::size_t>(micro_batching.count));
  if (micro_batching.tokens > 0)
    return batching::first_fit_decreasing(lengths, static_cast<std::int64_t>(micro_batching.tokens));
  if (micro_batching.sequences > 0)
    return batching::by_count(lengths.size(), static_cast<std::size_t>(micro_batching.sequences));
  return batching::by_count(lengths.size(), std::max<std::size_t>(1, lengths.size()));
}

/// Tokens of each unit: of so many sequences that are kept together.
std::vector<std::int64_t> lengths_of(std::span<const control::TokenSequence> sequences, std::size_t together) {
  DOVETAIL_ASSERT(together >= 1 && sequences.size() % together == 0);
  std::vector<std::int64_t> lengths(sequences.size() / together);
  for (std::size_t i = 0; i < sequences.size(); ++i)
    lengths[i / together] += static_cast<std::int64_t>(sequences[i].tokens.size());
  return lengths;
}

/// The sequences of some units.
std::vector<std::size_t> sequences_of(const std::vector<std::size_t>& units, std::size_t together) {
  std::vector<std::size_t> sequences;
  for (const std::size_t unit : units)
    for (std::size_t i = 0; i < together; ++i) sequences.push_back(unit * together + i);
  return sequences;
}

/// Whether one of so many micro-batches of a replica has more than a limit allows.
bool is_beyond(const plan::MicroBatching& micro_batching, const control::MiniBatch& mini_batch, std::size_t replicas,
               std::size_t microbatches) {
  const auto is_over = [](double limit, std::size_t found) { return limit > 0 && static_cast<double>(found) > limit; };
  for (const auto& replica : dealt_to_replicas(mini_batch.sequences, mini_batch.kept_together, replicas, microbatches))
    for (const std::vector<std::size_t>& ids : replica) {
      std::size_t tokens = 0;
      for (const std::size_t id : ids) tokens += mini_batch.sequences[id].tokens.size();
      if (ids.size() > mini_batch.kept_together &&
          (is_over(micro_batching.tokens, tokens) || is_over(micro_batching.sequences, ids.size())))
        return true;
    }
  return false;
}

}  // namespace

std::vector<std::vector<std::size_t>> micro_batches_of(std::span<const control::TokenSequence> sequences,
                                                       const control::PassSettings& settings) {
  std::vector<std::vector<std::size_t>> batches;
  for (const auto& part : assign(lengths_of(sequences, settings.kept_together), settings.micro_batching))
    if (!part.empty()) batches.push_back(sequences_of(part, settings.kept_together));
  return batches;
}

std::vector<std::vector<std::vector<std::size_t>>> dealt_to_replicas(std::span<const control::TokenSequence> sequences,
                                                                     std::size_t kept_together, std::size_t replicas,
                                                                     std::size_t microbatches) {
  const std::vector<std::int64_t> lengths = lengths_of(sequences, kept_together);
  std::vector<std::vector<std::vector<std::size_t>>> dealt;
  for (const std::vector<std::size_t>& units : batching::exactly(lengths, replicas)) {
    std::vector<std::int64_t> own;
    for (const std::size_t unit : units) own.push_back(lengths[unit]);
    auto& batches = dealt.emplace_back();
    for (std::vector<std::size_t> part : batching::exactly(own, microbatches)) {
      for (std::size_t& unit : part) unit = units[unit];
      batches.push_back(sequences_of(part, kept_together));
    }
  }
  return dealt;
}

std::size_t microbatches_within(const plan::MicroBatching& micro_batching,
                                std::span<const control::MiniBatch> mini_batches, std::size_t replicas,
                                std::size_t planned) {
  if (micro_batching.count > 0) return planned;
  std::size_t count = planned;
  for (const control::MiniBatch& mini_batch : mini_batches) {
    const std::size_t units = mini_batch.sequences.size() / mini_batch.kept_together;
    while (count < units && is_beyond(micro_batching, mini_batch, replicas, count)) ++count;
  }
  return count;
}

}  // namespace dovetail::runtime
