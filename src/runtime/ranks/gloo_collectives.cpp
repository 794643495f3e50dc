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
#include "runtime/ranks/error_text.h"
#include "runtime/ranks/gloo_process_group.h"
#include "runtime/ranks/wait_errors.h"

namespace dovetail::runtime {
namespace {

using base::Status;
using transport::Clock;
using transport::Deadline;
using transport::Group;
using transport::Numbers;
using transport::Share;
using namespace std::chrono_literals;

using ProcessGroup = c10::intrusive_ptr<c10d::ProcessGroupGloo>;
using Work = c10::intrusive_ptr<c10d::Work>;

/// How soon an error elsewhere ends a wait.
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

/// Whether the work has ended, well or not. What a wait throws is not asked: it may be the wait's own end, and the work
/// may end just after it.
bool ends_within(c10d::Work& work, std::chrono::milliseconds time) {
  try {
    work.wait(time);
  } catch (const std::exception&) {
  }
  return work.isCompleted();
}

/// Gloo writes into tensors, which it may not where they are made in libtorch's inference mode, as all of a run's are.
class GlooCollectives final : public transport::Collectives {
 public:
  GlooCollectives(const RankPlace& place, JobStore& store, transport::Transport& transport)
      : place_(place), store_(store), transport_(transport) {}

  ~GlooCollectives() override {
    if (transport_.status().ok()) return;
    // Gloo would wait for what it has begun, and ranks are lost: the process ends with its connections.
    for (auto& [ranks, group] : groups_) static_cast<void>(group.release());
  }

  Status open(const std::vector<std::vector<int>>& groups, Deadline deadline) override {
    for (const std::vector<int>& ranks : groups) {
      if (ranks.size() < 2 || groups_.contains(ranks)) continue;
      try {
        groups_[ranks] = connect_process_group(place_, store_, fmt::format("sums/{}", fmt::join(ranks, ",")), ranks,
                                               until(deadline));
      } catch (const std::exception& error) {
        return lost_in("connects with", ranks, reason_of(error));
      }
    }
    return {};
  }

  Status reduce_scatter(const Group& group, Numbers numbers, Deadline deadline) override {
    return std::visit([&](auto values) { return sum(group, values, share_in(group, values.size()), deadline); },
                      numbers);
  }

  Status all_gather(const Group& group, Numbers numbers, Deadline deadline) override {
    return std::visit([&](auto values) { return gather(group, values, deadline); }, numbers);
  }

  Status all_reduce(const Group& group, Numbers numbers, Deadline deadline) override {
    return std::visit([&](auto values) { return sum(group, values, Share{0, values.size()}, deadline); }, numbers);
  }

  Status broadcast(const Group& group, std::size_t root, Numbers numbers, Deadline deadline) override {
    return std::visit([&](auto values) { return tell(group, root, values, deadline); }, numbers);
  }

 private:
  Share share_in(const Group& group, std::size_t count) const {
    const auto own = std::find(group.ranks.begin(), group.ranks.end(), place_.rank) - group.ranks.begin();
    return transport::share_of(count, group.ranks.size(), static_cast<std::size_t>(own));
  }

  /// Null for a rank alone.
  c10d::ProcessGroupGloo* find(const std::vector<int>& ranks) const {
    if (ranks.size() == 1) return nullptr;
    const auto found = groups_.find(ranks);
    DOVETAIL_ASSERT(found != groups_.end());
    return found->second.get();
  }

  /// Sums all values, and takes the sums of `taken`.
  template <class Value>
  Status sum(const Group& group, std::span<Value> values, const Share& taken, Deadline deadline) {
    const std::vector<int> ranks(group.ranks.begin(), group.ranks.end());
    c10d::ProcessGroupGloo* const processes = find(ranks);
    if (processes == nullptr || values.empty()) return {};
    const c10::InferenceMode outside(false);
    std::vector<at::Tensor> sums{copy_of(std::span<const Value>(values))};
    DOVETAIL_CHECK(wait([&] { return processes->allreduce(sums); }, "sums with", ranks, deadline));
    const Value* const begin = sums[0].template data_ptr<Value>() + taken.begin;
    std::copy(begin, begin + taken.size, values.begin() + static_cast<std::ptrdiff_t>(taken.begin));
    return {};
  }

  template <class Value>
  Status tell(const Group& group, std::size_t root, std::span<Value> values, Deadline deadline) {
    const std::vector<int> ranks(group.ranks.begin(), group.ranks.end());
    c10d::ProcessGroupGloo* const processes = find(ranks);
    if (processes == nullptr || values.empty()) return {};
    const c10::InferenceMode outside(false);
    std::vector<at::Tensor> told{copy_of(std::span<const Value>(values))};
    c10d::BroadcastOptions options;
    options.rootRank = static_cast<std::int64_t>(root);
    DOVETAIL_CHECK(wait([&] { return processes->broadcast(told, options); }, "hears from", ranks, deadline));
    const Value* const begin = told[0].template data_ptr<Value>();
    std::copy(begin, begin + values.size(), values.begin());
    return {};
  }

  /// Shares differ in size by one; Gloo's do not.
  template <class Value>
  Status gather(const Group& group, std::span<Value> values, Deadline deadline) {
    const std::vector<int> ranks(group.ranks.begin(), group.ranks.end());
    c10d::ProcessGroupGloo* const processes = find(ranks);
    if (processes == nullptr || values.empty()) return {};
    const c10::InferenceMode outside(false);
    const auto longest = static_cast<std::int64_t>((values.size() + ranks.size() - 1) / ranks.size());
    const auto room = [&] { return at::zeros({longest}, at::TensorOptions().dtype(type_of<Value>)); };
    const Share own = share_in(group, values.size());
    std::vector<at::Tensor> said{room()};
    const auto mine = values.subspan(own.begin, own.size);
    std::copy(mine.begin(), mine.end(), said[0].template data_ptr<Value>());
    std::vector<std::vector<at::Tensor>> heard(1);
    for (std::size_t part = 0; part < ranks.size(); ++part) heard[0].push_back(room());
    DOVETAIL_CHECK(wait([&] { return processes->allgather(heard, said); }, "gathers from", ranks, deadline));
    for (std::size_t part = 0; part < ranks.size(); ++part) {
      const Share share = transport::share_of(values.size(), ranks.size(), part);
      const Value* const begin = heard[0][part].template data_ptr<Value>();
      std::copy(begin, begin + share.size, values.begin() + static_cast<std::ptrdiff_t>(share.begin));
    }
    return {};
  }

  /// Starts Gloo's work, and waits for its end.
  template <class Start>
  Status wait(Start start, std::string_view deed, const std::vector<int>& ranks, Deadline deadline) {
    DOVETAIL_CHECK(transport_.status());
    Work work;
    try {
      work = start();
    } catch (const std::exception& error) {
      return lost_in(deed, ranks, reason_of(error));
    }
    while (!ends_within(*work, std::min(tick, until(deadline)))) {
      DOVETAIL_CHECK(transport_.status());
      if (Clock::now() >= deadline) return lost_in(deed, ranks, "it waited in vain");
    }
    try {
      work->wait();
      return {};
    } catch (const std::exception& error) {
      return lost_in(deed, ranks, reason_of(error));
    }
  }

  Status lost_in(std::string_view deed, const std::vector<int>& ranks, const std::string& reason) {
    return lose_collective(transport_, ranks, deed, reason);
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
