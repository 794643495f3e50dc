#include "runtime/ranks/device_transport.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "runtime/ranks/job_monitor.h"
#include "runtime/ranks/rank_note.h"

namespace dovetail::runtime {
namespace {

using base::Status;
using transport::Address;
using transport::Buffer;
using transport::Channel;
using transport::Clock;
using transport::Deadline;
using transport::Lane;

// Positions of a channel's ends in its group.
constexpr int sender = 0;
constexpr int receiver = 1;

/// Message that the library holds.
struct PendingMessage {
  std::uint32_t number = 0;
  Buffer buffer;
  std::unique_ptr<DeviceWork> work;
};

class DeviceTransport final : public transport::Transport {
 public:
  DeviceTransport(std::unique_ptr<Transport> host, ConnectDevices connect, JobMonitor* monitor)
      : host_(std::move(host)), groups_(*host_, GroupUse::channel, std::move(connect)), monitor_(monitor) {}

  int rank() const override { return host_->rank(); }
  int ranks() const override { return host_->ranks(); }
  bool carries_device_memory() const override { return true; }
  Status status() override { return host_->status(); }
  void fail(const base::Error& error) noexcept override { host_->fail(error); }

  Status open(const std::vector<Channel>& channels, Deadline deadline) override {
    for (const Channel& channel : channels) {
      DOVETAIL_ASSERT(channel.from != channel.to && (channel.from == rank() || channel.to == rank()));
      DOVETAIL_CHECK(groups_.open({channel.from, channel.to}, deadline));
    }
    return {};
  }

  void send(const Address& to, Buffer message) override {
    if (to.lane != Lane::programs) return host_->send(to, std::move(message));
    hand_over({rank(), to.peer}, to, std::move(message));
  }

  void receive(const Address& from, Buffer destination) override {
    if (from.lane != Lane::programs) return host_->receive(from, std::move(destination));
    hand_over({from.peer, rank()}, from, std::move(destination));
  }

  Status wait(const Address& from, Deadline deadline) override {
    if (from.lane != Lane::programs) return host_->wait(from, deadline);
    DOVETAIL_CHECK(status());
    const auto begin = Clock::now();
    std::deque<PendingMessage>& messages = messages_[{from.peer, rank()}];
    const auto found = std::find_if(messages.begin(), messages.end(),
                                    [&](const PendingMessage& message) { return message.number == from.number; });
    DOVETAIL_ASSERT(found != messages.end());
    std::string reason;
    switch (await(*found->work, *host_, deadline, reason)) {
      case WorkEnd::done:
        messages.erase(found);
        return {};
      case WorkEnd::failed:
        return status();
      case WorkEnd::broken:
        return fail_with(lost_peer_error(from.peer, rank(), "waited for " + text_of(from), reason));
      case WorkEnd::late:
        break;
    }
    return fail_with(deadline_error(
        rank(), fmt::format("timed out after {} waiting for {}", seconds_since(begin), text_of(from)), monitor_));
  }

  Status flush(Lane lane, Deadline deadline) override {
    if (lane != Lane::programs) return host_->flush(lane, deadline);
    const auto begin = Clock::now();
    for (auto& [channel, messages] : messages_)
      if (channel.from == rank()) DOVETAIL_CHECK(deliver(channel.to, messages, begin, deadline));
    return status();
  }

 private:
  void hand_over(const Channel& channel, const Address& address, Buffer buffer) {
    if (!status().ok()) return;
    DeviceGroup& group = groups_.of({channel.from, channel.to});
    std::deque<PendingMessage>& messages = messages_[channel];
    const bool is_sent = channel.from == rank();
    if (is_sent) drop_delivered(messages);
    try {
      std::unique_ptr<DeviceWork> work = is_sent ? group.send(receiver, buffer) : group.receive(sender, buffer);
      messages.push_back({address.number, std::move(buffer), std::move(work)});
    } catch (const std::exception& error) {
      fail(lost_peer_error(address.peer, rank(), is_sent ? "was sending it a message" : "was posting a receive",
                           reason_of(error)));
    }
  }

  /// Drops delivered messages. `flush` reports those that failed.
  static void drop_delivered(std::deque<PendingMessage>& messages) {
    try {
      while (!messages.empty() && messages.front().work->is_done()) messages.pop_front();
    } catch (const std::exception&) {
    }
  }

  Status deliver(int peer, std::deque<PendingMessage>& messages, Clock::time_point begin, Deadline deadline) {
    for (; !messages.empty(); messages.pop_front()) {
      std::string reason;
      switch (await(*messages.front().work, *host_, deadline, reason)) {
        case WorkEnd::done:
          continue;
        case WorkEnd::failed:
          return status();
        case WorkEnd::broken:
          return fail_with(lost_peer_error(peer, rank(), "was sending it a message (programs)", reason));
        case WorkEnd::late:
          return fail_with(
              deadline_error(rank(),
                             fmt::format("timed out after {} waiting for rank {} to receive its messages (programs)",
                                         seconds_since(begin), peer),
                             monitor_));
      }
    }
    return {};
  }

  Status fail_with(const base::Error& error) {
    fail(error);
    return status();
  }

  std::unique_ptr<Transport> host_;
  DeviceGroups groups_;
  std::map<Channel, std::deque<PendingMessage>> messages_;
  JobMonitor* monitor_;
};

using transport::CollectiveGroup;
using transport::Numbers;

std::size_t count_of(const Numbers& numbers) {
  return std::visit([](auto values) { return values.size(); }, numbers);
}

/// Returns the share of one rank.
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

  Status reduce_scatter(const CollectiveGroup& group, Numbers numbers, Deadline deadline) override {
    return for_each_share(group, numbers, "was summing with", deadline,
                          [](DeviceGroup& devices, Numbers part, int root) { return devices.reduce(part, root); });
  }

  Status all_gather(const CollectiveGroup& group, Numbers numbers, Deadline deadline) override {
    return for_each_share(group, numbers, "was gathering from", deadline,
                          [](DeviceGroup& devices, Numbers part, int root) { return devices.broadcast(part, root); });
  }

  Status all_reduce(const CollectiveGroup& group, Numbers numbers, Deadline deadline) override {
    return carry_out(group, numbers, "was summing with", deadline,
                     [&](DeviceGroup& devices, Works& works) { works.push_back(devices.all_reduce(numbers)); });
  }

  Status broadcast(const CollectiveGroup& group, std::size_t root, Numbers numbers, Deadline deadline) override {
    return carry_out(group, numbers, "was broadcasting with", deadline, [&](DeviceGroup& devices, Works& works) {
      works.push_back(devices.broadcast(numbers, static_cast<int>(root)));
    });
  }

 private:
  using Works = std::vector<std::unique_ptr<DeviceWork>>;

  template <class Start>
  Status for_each_share(const CollectiveGroup& group, const Numbers& numbers, std::string_view action,
                        Deadline deadline, Start start) {
    return carry_out(group, numbers, action, deadline, [&](DeviceGroup& devices, Works& works) {
      for (std::size_t place = 0; place < group.ranks.size(); ++place)
        if (const Numbers part = part_of(numbers, group.ranks.size(), place); count_of(part) > 0)
          works.push_back(start(devices, part, static_cast<int>(place)));
    });
  }

  /// Runs the operations that `start` submits to the ranks' group, and waits for them. Does nothing for a rank alone.
  template <class Start>
  Status carry_out(const CollectiveGroup& group, const Numbers& numbers, std::string_view action, Deadline deadline,
                   Start start) {
    const std::vector<int> ranks(group.ranks.begin(), group.ranks.end());
    if (ranks.size() == 1 || count_of(numbers) == 0) return {};
    DOVETAIL_CHECK(transport_.status());
    Works works;
    try {
      start(groups_.of(ranks), works);
    } catch (const std::exception& error) {
      return fail_collective(transport_, ranks, action, reason_of(error));
    }
    for (const std::unique_ptr<DeviceWork>& work : works) {
      std::string reason = "timed out";
      const WorkEnd end = await(*work, transport_, deadline, reason);
      if (end == WorkEnd::failed) return transport_.status();
      if (end != WorkEnd::done) return fail_collective(transport_, ranks, action, reason);
    }
    return {};
  }

  transport::Transport& transport_;
  DeviceGroups groups_;
};

}  // namespace

std::unique_ptr<transport::Transport> make_device_transport(std::unique_ptr<transport::Transport> host,
                                                            ConnectDevices connect, JobMonitor* monitor) {
  return std::make_unique<DeviceTransport>(std::move(host), std::move(connect), monitor);
}

std::unique_ptr<transport::Collectives> make_device_collectives(transport::Transport& transport,
                                                                ConnectDevices connect) {
  return std::make_unique<DeviceCollectives>(transport, std::move(connect));
}

}  // namespace dovetail::runtime
