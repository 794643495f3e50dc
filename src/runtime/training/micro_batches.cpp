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

}  // namespace

std::vector<std::vector<std::size_t>> micro_batches_of(std::span<const control::TokenSequence> sequences,
                                                       const control::PassSettings& settings) {
  const std::size_t together = settings.kept_together;
  DOVETAIL_ASSERT(together >= 1 && sequences.size() % together == 0);
  std::vector<std::int64_t> lengths(sequences.size() / together);
  for (std::size_t i = 0; i < sequences.size(); ++i)
    lengths[i / together] += static_cast<std::int64_t>(sequences[i].tokens.size());
  std::vector<std::vector<std::size_t>> batches;
  for (const std::vector<std::size_t>& part : assign(lengths, settings.micro_batching)) {
    std::vector<std::size_t>& batch = batches.emplace_back();
    for (const std::size_t unit : part)
      for (std::size_t i = 0; i < together; ++i) batch.push_back(unit * together + i);
  }
  std::erase_if(batches, [](const std::vector<std::size_t>& batch) { return batch.empty(); });
  return batches;
}

}  // namespace dovetail::runtime
