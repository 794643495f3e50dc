#include "parallel/shared_chains.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/assert.h"
#include "parallel/for_each_index.h"

namespace dovetail::parallel {
namespace {

// Prefixes of a message: the reason of its process to stop.
constexpr char no_reason = '-';
constexpr char out_of_time = 't';
constexpr char interrupted = 'i';

}  // namespace

SharedChains::SharedChains(const SharingOptions& options) : options_(options) {
  const int ranks = options.exchange != nullptr ? options.exchange->ranks : 1;
  const int rank = options.exchange != nullptr ? options.exchange->rank : 0;
  for (int number = rank; number < options.chains; number += ranks) numbers_.push_back(number);
  last_seconds_.resize(numbers_.size());
}

/// Starts with the chains that took longest in the last round, so that threads end at about the same time.
void SharedChains::work_on_all(const std::function<void(std::size_t own)>& work) {
  std::vector<std::size_t> longest_first(numbers_.size());
  std::iota(longest_first.begin(), longest_first.end(), std::size_t{0});
  std::stable_sort(longest_first.begin(), longest_first.end(),
                   [this](std::size_t a, std::size_t b) { return last_seconds_[a] > last_seconds_[b]; });
  for_each_index(static_cast<int>(numbers_.size()), options_.threads, [&](int i) {
    const std::size_t own = longest_first[static_cast<std::size_t>(i)];
    const auto begin = std::chrono::steady_clock::now();
    work(own);
    last_seconds_[own] = base::seconds_since(begin);
  });
}

std::vector<std::string> SharedChains::run(const std::function<void(std::size_t own)>& work,
                                           const std::function<std::string()>& report) {
  // Even a cancelled process takes part in the exchange that ends the round.
  if (!is_cancelled()) work_on_all(work);
  const auto cancelled = ended_by(options_.cancellation);
  const char reason = cancelled == EndedBy::interrupt ? interrupted : cancelled || is_late() ? out_of_time : no_reason;
  std::vector<std::string> messages{reason + report()};
  if (options_.exchange != nullptr && options_.exchange->ranks > 1) {
    auto gathered = options_.exchange->all_gather(messages.front());
    if (gathered.ok()) {
      messages = std::move(gathered).value();
    } else {
      lost_ = gathered.error();
      ended_ = EndedBy::interrupt;
    }
  }
  for (std::string& message : messages) message = take_reason(std::move(message));
  return messages;
}

/// Returns the message without its reason, and records the reason.
std::string SharedChains::take_reason(std::string message) {
  DOVETAIL_ASSERT(!message.empty());
  if (message.front() == out_of_time && !ended_) ended_ = EndedBy::time;
  if (message.front() == interrupted) ended_ = EndedBy::interrupt;
  return message.substr(1);
}

}  // namespace dovetail::parallel
