#include "runtime/ranks/gloo_collectives.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <c10/core/InferenceMode.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "runtime/ranks/gloo_group.h"
#include "runtime/ranks/job_monitor.h"
#include "runtime/ranks/rank_note.h"

namespace dovetail::runtime {
namespace {

using base::Status;
using transport::Clock;
using transport::CollectiveGroup;
using transport::Deadline;
using transport::Numbers;
using transport::Share;
using namespace std::chrono_literals;

using ProcessGroup = c10::intrusive_ptr<c10d::ProcessGroupGloo>;
using Work = c10::intrusive_ptr<c10d::Work>;

/// Maximum delay until an error elsewhere ends a wait.
constexpr std::chrono::milliseconds tick = 50ms;

template <class Value>
constexpr at::ScalarType type_of = sizeof(Value) == sizeof(double) ? at::kDouble : at::kFloat;

template <class Value>
at::Tensor copy_of(std::span<const Value> values) {
  at::Tensor copy = at::empty({static_cast<std::int64_t>(values.size())}, at::TensorOptions().dtype(type_of<Value>));
  std::copy(values.begin(), values.end(), copy.data_ptr<Value>());
  return copy;
}

std::chrono::milliseconds until(Deadline deadline) {
  return std::max(1ms, std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()));
}

/// Returns whether the work has ended, successfully or not. Ignores exceptions of the wait: they may come from its time
/// limit, just before the work ends.
bool ends_within(c10d::Work& work, std::chrono::milliseconds time) {
  try {
    work.wait(time);
  } catch (const std::exception&) {
  }
  return work.isCompleted();
}

/// Gloo writes into tensors, so they must not be created in libtorch's inference mode, which the rest of a run uses.
class GlooCollectives final : public transport::Collectives {
 public:
  GlooCollectives(const RankPlace& place, JobStore& store, transport::Transport& transport)
      : place_(place), store_(store), transport_(transport) {}

  ~GlooCollectives() override {
    if (transport_.status().ok()) return;
    // Gloo would wait for its pending work, but ranks are lost. The connections end with the process.
    for (auto& [ranks, group] : groups_) static_cast<void>(group.release());
  }

  Status open(const std::vector<std::vector<int>>& groups, Deadline deadline) override {
    for (const std::vector<int>& ranks : groups) {
      if (ranks.size() < 2 || groups_.contains(ranks)) continue;
      try {
        groups_[ranks] = connect_process_group(place_, store_, fmt::format("sums/{}", fmt::join(ranks, ",")), ranks,
                                               until(deadline));
      } catch (const std::exception& error) {
        return failed("was connecting to", ranks, reason_of(error));
      }
    }
    return {};
  }

  Status reduce_scatter(const CollectiveGroup& group, Numbers numbers, Deadline deadline) override {
    return std::visit([&](auto values) { return sum(group, values, share_in(group, values.size()), deadline); },
                      numbers);
  }

  Status all_gather(const CollectiveGroup& group, Numbers numbers, Deadline deadline) override {
    return std::visit([&](auto values) { return gather(group, values, deadline); }, numbers);
  }

  Status all_reduce(const CollectiveGroup& group, Numbers numbers, Deadline deadline) override {
    return std::visit([&](auto values) { return sum(group, values, Share{0, values.size()}, deadline); }, numbers);
  }

  Status broadcast(const CollectiveGroup& group, std::size_t root, Numbers numbers, Deadline deadline) override {
    return std::visit([&](auto values) { return broadcast_values(group, root, values, deadline); }, numbers);
  }

 private:
  Share share_in(const CollectiveGroup& group, std::size_t count) const {
    const auto own = std::find(group.ranks.begin(), group.ranks.end(), place_.rank) - group.ranks.begin();
    return transport::share_of(count, group.ranks.size(), static_cast<std::size_t>(own));
  }

  /// Returns null if the rank is alone.
  c10d::ProcessGroupGloo* find(const std::vector<int>& ranks) const {
    if (ranks.size() == 1) return nullptr;
    const auto found = groups_.find(ranks);
    DOVETAIL_ASSERT(found != groups_.end());
    return found->second.get();
  }

  /// Sums all values, and stores the sums of the share `taken`.
  template <class Value>
  Status sum(const CollectiveGroup& group, std::span<Value> values, const Share& taken, Deadline deadline) {
    const std::vector<int> ranks(group.ranks.begin(), group.ranks.end());
    c10d::ProcessGroupGloo* const processes = find(ranks);
    if (processes == nullptr || values.empty()) return {};
    const c10::InferenceMode outside(false);
    std::vector<at::Tensor> sums{copy_of(std::span<const Value>(values))};
    DOVETAIL_CHECK(wait([&] { return processes->allreduce(sums); }, "was summing with", ranks, deadline));
    const Value* const begin = sums[0].template data_ptr<Value>() + taken.begin;
    std::copy(begin, begin + taken.size, values.begin() + static_cast<std::ptrdiff_t>(taken.begin));
    return {};
  }

  template <class Value>
  Status broadcast_values(const CollectiveGroup& group, std::size_t root, std::span<Value> values, Deadline deadline) {
    const std::vector<int> ranks(group.ranks.begin(), group.ranks.end());
    c10d::ProcessGroupGloo* const processes = find(ranks);
    if (processes == nullptr || values.empty()) return {};
    const c10::InferenceMode outside(false);
    std::vector<at::Tensor> received{copy_of(std::span<const Value>(values))};
    c10d::BroadcastOptions options;
    options.rootRank = static_cast<std::int64_t>(root);
    DOVETAIL_CHECK(
        wait([&] { return processes->broadcast(received, options); }, "was broadcasting with", ranks, deadline));
    const Value* const begin = received[0].template data_ptr<Value>();
    std::copy(begin, begin + values.size(), values.begin());
    return {};
  }

  /// Pads the shares to equal size, as Gloo requires. They differ by at most one element.
  template <class Value>
  Status gather(const CollectiveGroup& group, std::span<Value> values, Deadline deadline) {
    const std::vector<int> ranks(group.ranks.begin(), group.ranks.end());
    c10d::ProcessGroupGloo* const processes = find(ranks);
    if (processes == nullptr || values.empty()) return {};
    const c10::InferenceMode outside(false);
    const auto longest = static_cast<std::int64_t>((values.size() + ranks.size() - 1) / ranks.size());
    const auto padded = [&] { return at::zeros({longest}, at::TensorOptions().dtype(type_of<Value>)); };
    const Share own = share_in(group, values.size());
    std::vector<at::Tensor> sent{padded()};
    const auto own_values = values.subspan(own.begin, own.size);
    std::copy(own_values.begin(), own_values.end(), sent[0].template data_ptr<Value>());
    std::vector<std::vector<at::Tensor>> gathered(1);
    for (std::size_t part = 0; part < ranks.size(); ++part) gathered[0].push_back(padded());
    DOVETAIL_CHECK(wait([&] { return processes->allgather(gathered, sent); }, "was gathering from", ranks, deadline));
    for (std::size_t part = 0; part < ranks.size(); ++part) {
      const Share share = transport::share_of(values.size(), ranks.size(), part);
      const Value* const begin = gathered[0][part].template data_ptr<Value>();
      std::copy(begin, begin + share.size, values.begin() + static_cast<std::ptrdiff_t>(share.begin));
    }
    return {};
  }

  /// Starts work of Gloo and waits for its end.
  template <class Start>
  Status wait(Start start, std::string_view action, const std::vector<int>& ranks, Deadline deadline) {
    DOVETAIL_CHECK(transport_.status());
    Work work;
    try {
      work = start();
    } catch (const std::exception& error) {
      return failed(action, ranks, reason_of(error));
    }
    while (!ends_within(*work, std::min(tick, until(deadline)))) {
      DOVETAIL_CHECK(transport_.status());
      if (Clock::now() >= deadline) return failed(action, ranks, "timed out");
    }
    try {
      work->wait();
      return {};
    } catch (const std::exception& error) {
      return failed(action, ranks, reason_of(error));
    }
  }

  Status failed(std::string_view action, const std::vector<int>& ranks, const std::string& reason) {
    return fail_collective(transport_, ranks, action, reason);
  }

  RankPlace place_;
  JobStore& store_;
  transport::Transport& transport_;
  std::map<std::vector<int>, ProcessGroup> groups_;
};

}  // namespace

std::unique_ptr<transport::Collectives> make_gloo_collectives(const RankPlace& place, JobStore& store,
                                                              transport::Transport& transport) {
  return std::make_unique<GlooCollectives>(place, store, transport);
}

}  // namespace dovetail::runtime
