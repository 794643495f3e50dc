#include "runtime/ranks/device_collectives.h"

#include <string>
#include <utility>
#include <vector>

#include "runtime/ranks/error_text.h"
#include "runtime/ranks/wait_errors.h"

namespace dovetail::runtime {
namespace {

using base::Status;
using transport::Deadline;
using transport::Group;
using transport::Numbers;

std::size_t count_of(const Numbers& numbers) {
  return std::visit([](auto values) { return values.size(); }, numbers);
}

/// The share of the rank at a place.
Numbers part_of(const Numbers& numbers, std::size_t parts, std::size_t part) {
  const transport::Share share = transport::share_of(count_of(numbers), parts, part);
  return std::visit([&](auto values) { return Numbers(values.subspan(share.begin, share.size)); }, numbers);
}

class DeviceCollectives final : public transport::Collectives {
 public:
  DeviceCollectives(transport::Transport& transport, ConnectDevices connect)
      : transport_(transport), groups_(transport, GroupUse::sums, std::move(connect)) {}

  bool takes_device_memory() const override { return true; }

  Status open(const std::vector<std::vector<int>>& groups, Deadline deadline) override {
    for (const std::vector<int>& ranks : groups)
      if (ranks.size() > 1) DOVETAIL_CHECK(groups_.open(ranks, deadline));
    return {};
  }

  Status reduce_scatter(const Group& group, Numbers numbers, Deadline deadline) override {
    return for_each_share(group, numbers, "sums with", deadline,
                          [](DeviceGroup& devices, Numbers part, int root) { return devices.reduce(part, root); });
  }

  Status all_gather(const Group& group, Numbers numbers, Deadline deadline) override {
    return for_each_share(group, numbers, "gathers from", deadline,
                          [](DeviceGroup& devices, Numbers part, int root) { return devices.broadcast(part, root); });
  }

  Status all_reduce(const Group& group, Numbers numbers, Deadline deadline) override {
    return carry_out(group, numbers, "sums with", deadline,
                     [&](DeviceGroup& devices, Works& works) { works.push_back(devices.all_reduce(numbers)); });
  }

  Status broadcast(const Group& group, std::size_t root, Numbers numbers, Deadline deadline) override {
    return carry_out(group, numbers, "hears from", deadline, [&](DeviceGroup& devices, Works& works) {
      works.push_back(devices.broadcast(numbers, static_cast<int>(root)));
    });
  }

 private:
  using Works = std::vector<std::unique_ptr<DeviceWork>>;

  template <class Start>
  Status for_each_share(const Group& group, const Numbers& numbers, std::string_view deed, Deadline deadline,
                        Start start) {
    return carry_out(group, numbers, deed, deadline, [&](DeviceGroup& devices, Works& works) {
      for (std::size_t place = 0; place < group.ranks.size(); ++place)
        if (const Numbers part = part_of(numbers, group.ranks.size(), place); count_of(part) > 0)
          works.push_back(start(devices, part, static_cast<int>(place)));
    });
  }

  /// Starts what `start` does with the ranks' group, and waits for all of it. A rank alone has nothing to do.
  template <class Start>
  Status carry_out(const Group& group, const Numbers& numbers, std::string_view deed, Deadline deadline, Start start) {
    const std::vector<int> ranks(group.ranks.begin(), group.ranks.end());
    if (ranks.size() == 1 || count_of(numbers) == 0) return {};
    DOVETAIL_CHECK(transport_.status());
    Works works;
    try {
      start(groups_.of(ranks), works);
    } catch (const std::exception& error) {
      return lose_collective(transport_, ranks, deed, reason_of(error));
    }
    for (const std::unique_ptr<DeviceWork>& work : works) {
      std::string reason = "it waited in vain";
      const WorkEnd end = await(*work, transport_, deadline, reason);
      if (end == WorkEnd::failed) return transport_.status();
      if (end != WorkEnd::done) return lose_collective(transport_, ranks, deed, reason);
    }
    return {};
  }

  transport::Transport& transport_;
  DeviceGroups groups_;
};

}  // namespace

std::unique_ptr<transport::Collectives> make_device_collectives(transport::Transport& transport,
                                                                ConnectDevices connect) {
  return std::make_unique<DeviceCollectives>(transport, std::move(connect));
}

}  // namespace dovetail::runtime
