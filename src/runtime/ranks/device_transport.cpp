#include "runtime/ranks/device_transport.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <utility>

#include "base/assert.h"
#include "runtime/ranks/error_text.h"
#include "runtime/ranks/wait_errors.h"

namespace dovetail::runtime {
namespace {

using base::Status;
using transport::Address;
using transport::Buffer;
using transport::Channel;
using transport::Clock;
using transport::Deadline;
using transport::Lane;
using namespace std::chrono_literals;

// The places of a channel's ends in its group.
constexpr int sender = 0;
constexpr int receiver = 1;

/// A message that the library has.
struct UnderWay {
  std::uint32_t number = 0;
  Buffer buffer;
  std::unique_ptr<DeviceWork> work;
};

/// A channel, as one of its ends has it.
struct Way {
  std::unique_ptr<DeviceGroup> group;
  std::deque<UnderWay> messages;
};

class DeviceTransport final : public transport::Transport {
 public:
  DeviceTransport(std::unique_ptr<Transport> host, ConnectDevices connect, JobWatch* watch)
      : host_(std::move(host)), connect_(std::move(connect)), watch_(watch) {}

  ~DeviceTransport() override {
    if (host_->status().ok()) return;
    for (auto& [channel, way] : ways_) {
      way.group->abort();
      static_cast<void>(way.group.release());
    }
  }

  int rank() const override { return host_->rank(); }
  int ranks() const override { return host_->ranks(); }
  bool carries_device_memory() const override { return true; }
  Status status() override { return host_->status(); }
  void fail(const base::Error& error) noexcept override { host_->fail(error); }

  Status open(const std::vector<Channel>& channels, Deadline deadline) override {
    for (const Channel& channel : channels) {
      DOVETAIL_ASSERT(channel.from != channel.to && (channel.from == rank() || channel.to == rank()));
      if (ways_.contains(channel)) continue;
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
      try {
        ways_[channel].group = connect_(GroupUse::channel, {channel.from, channel.to}, std::max(left, 1ms));
      } catch (const std::exception& error) {
        ways_.erase(channel);
        return lose_collective(*host_, {channel.from, channel.to}, "connects with", reason_of(error));
      }
    }
    return {};
  }

  void send(const Address& to, Buffer message) override {
    if (to.lane != Lane::programs) return host_->send(to, std::move(message));
    hand_over({rank(), to.peer}, to, std::move(message));
  }

  void receive(const Address& from, Buffer room) override {
    if (from.lane != Lane::programs) return host_->receive(from, std::move(room));
    hand_over({from.peer, rank()}, from, std::move(room));
  }

  Status wait(const Address& from, Deadline deadline) override {
    if (from.lane != Lane::programs) return host_->wait(from, deadline);
    DOVETAIL_CHECK(status());
    const auto begin = Clock::now();
    std::deque<UnderWay>& messages = way({from.peer, rank()}).messages;
    const auto found = std::find_if(messages.begin(), messages.end(),
                                    [&](const UnderWay& message) { return message.number == from.number; });
    DOVETAIL_ASSERT(found != messages.end());
    std::string reason;
    switch (await(*found->work, *host_, deadline, reason)) {
      case WorkEnd::done:
        messages.erase(found);
        return {};
      case WorkEnd::failed:
        return status();
      case WorkEnd::broken:
        return fail_with(peer_is_lost(from.peer, rank(), "waited for its " + text_of(from), reason));
      case WorkEnd::late:
        break;
    }
    return fail_with(
        is_late(rank(), fmt::format("waited {} in vain for {}", seconds_since(begin), text_of(from)), watch_));
  }

  Status flush(Lane lane, Deadline deadline) override {
    if (lane != Lane::programs) return host_->flush(lane, deadline);
    const auto begin = Clock::now();
    for (auto& [channel, way] : ways_)
      if (channel.from == rank()) DOVETAIL_CHECK(deliver(channel.to, way, begin, deadline));
    return status();
  }

 private:
  Way& way(const Channel& channel) {
    const auto found = ways_.find(channel);
    DOVETAIL_ASSERT(found != ways_.end());
    return found->second;
  }

  void hand_over(const Channel& channel, const Address& address, Buffer buffer) {
    if (!status().ok()) return;
    Way& on = way(channel);
    const bool is_sent = channel.from == rank();
    if (is_sent) drop_delivered(on);
    try {
      std::unique_ptr<DeviceWork> work = is_sent ? on.group->send(receiver, buffer) : on.group->receive(sender, buffer);
      on.messages.push_back({address.number, std::move(buffer), std::move(work)});
    } catch (const std::exception& error) {
      fail(peer_is_lost(address.peer, rank(), is_sent ? "sent it a message" : "made room for a message",
                        reason_of(error)));
    }
  }

  /// Gives back what has arrived. What broke is said where it is flushed.
  static void drop_delivered(Way& way) {
    try {
      while (!way.messages.empty() && way.messages.front().work->is_done()) way.messages.pop_front();
    } catch (const std::exception&) {
    }
  }

  Status deliver(int peer, Way& way, Clock::time_point begin, Deadline deadline) {
    for (; !way.messages.empty(); way.messages.pop_front()) {
      std::string reason;
      switch (await(*way.messages.front().work, *host_, deadline, reason)) {
        case WorkEnd::done:
          continue;
        case WorkEnd::failed:
          return status();
        case WorkEnd::broken:
          return fail_with(peer_is_lost(peer, rank(), "sent it a message (programs)", reason));
        case WorkEnd::late:
          return fail_with(is_late(rank(),
                                   fmt::format("waited {} in vain until rank {} takes what it was sent (programs)",
                                               seconds_since(begin), peer),
                                   watch_));
      }
    }
    return {};
  }

  Status fail_with(const base::Error& error) {
    fail(error);
    return status();
  }

  std::unique_ptr<Transport> host_;
  ConnectDevices connect_;
  JobWatch* watch_;
  std::map<Channel, Way> ways_;
};

}  // namespace

std::unique_ptr<transport::Transport> make_device_transport(std::unique_ptr<transport::Transport> host,
                                                            ConnectDevices connect, JobWatch* watch) {
  return std::make_unique<DeviceTransport>(std::move(host), std::move(connect), watch);
}

}  // namespace dovetail::runtime
