#include "runtime/ranks/device_transport.h"

#include <fmt/format.h>

#include <algorithm>
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

// The places of a channel's ends in its group.
constexpr int sender = 0;
constexpr int receiver = 1;

/// A message that the library has.
struct UnderWay {
  std::uint32_t number = 0;
  Buffer buffer;
  std::unique_ptr<DeviceWork> work;
};

class DeviceTransport final : public transport::Transport {
 public:
  DeviceTransport(std::unique_ptr<Transport> host, ConnectDevices connect, JobWatch* watch)
      : host_(std::move(host)), groups_(*host_, GroupUse::channel, std::move(connect)), watch_(watch) {}

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

  void receive(const Address& from, Buffer room) override {
    if (from.lane != Lane::programs) return host_->receive(from, std::move(room));
    hand_over({from.peer, rank()}, from, std::move(room));
  }

  Status wait(const Address& from, Deadline deadline) override {
    if (from.lane != Lane::programs) return host_->wait(from, deadline);
    DOVETAIL_CHECK(status());
    const auto begin = Clock::now();
    std::deque<UnderWay>& messages = messages_[{from.peer, rank()}];
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
    for (auto& [channel, messages] : messages_)
      if (channel.from == rank()) DOVETAIL_CHECK(deliver(channel.to, messages, begin, deadline));
    return status();
  }

 private:
  void hand_over(const Channel& channel, const Address& address, Buffer buffer) {
    if (!status().ok()) return;
    DeviceGroup& group = groups_.of({channel.from, channel.to});
    std::deque<UnderWay>& messages = messages_[channel];
    const bool is_sent = channel.from == rank();
    if (is_sent) drop_delivered(messages);
    try {
      std::unique_ptr<DeviceWork> work = is_sent ? group.send(receiver, buffer) : group.receive(sender, buffer);
      messages.push_back({address.number, std::move(buffer), std::move(work)});
    } catch (const std::exception& error) {
      fail(peer_is_lost(address.peer, rank(), is_sent ? "sent it a message" : "made room for a message",
                        reason_of(error)));
    }
  }

  /// Drops messages that are delivered. `flush` reports those that failed.
  static void drop_delivered(std::deque<UnderWay>& messages) {
    try {
      while (!messages.empty() && messages.front().work->is_done()) messages.pop_front();
    } catch (const std::exception&) {
    }
  }

  Status deliver(int peer, std::deque<UnderWay>& messages, Clock::time_point begin, Deadline deadline) {
    for (; !messages.empty(); messages.pop_front()) {
      std::string reason;
      switch (await(*messages.front().work, *host_, deadline, reason)) {
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
  DeviceGroups groups_;
  std::map<Channel, std::deque<UnderWay>> messages_;
  JobWatch* watch_;
};

}  // namespace

std::unique_ptr<transport::Transport> make_device_transport(std::unique_ptr<transport::Transport> host,
                                                            ConnectDevices connect, JobWatch* watch) {
  return std::make_unique<DeviceTransport>(std::move(host), std::move(connect), watch);
}

}  // namespace dovetail::runtime
