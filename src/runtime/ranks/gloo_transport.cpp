#include "runtime/ranks/gloo_transport.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <deque>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "runtime/ranks/gloo_group.h"
#include "runtime/ranks/job_monitor.h"
#include "runtime/ranks/rank_note.h"

namespace dovetail::runtime {
namespace {

using base::Error;
using base::Result;
using base::Status;
using transport::Address;
using transport::Buffer;
using transport::Clock;
using transport::Deadline;
using transport::Lane;
using namespace std::chrono_literals;

/// Maximum number of messages per peer and direction that Gloo holds at a time. More slow it down.
constexpr int max_in_flight = 256;
/// Precision of deadlines.
constexpr auto tick = 20ms;
/// Number of ticks without progress after which Gloo gets more messages: they may arrive in another order than they
/// were posted.
constexpr int ticks_to_stall = 3;

int tag_of(const Address& address) {
  constexpr std::uint32_t bits = 29;
  static_assert(transport::lanes <= (1U << (31 - bits)));
  return static_cast<int>((static_cast<std::uint32_t>(address.lane) << bits) | (address.number & ((1U << bits) - 1)));
}

enum class Direction : std::uint8_t { in, out };

/// Message that waits for its turn.
struct Message {
  Address address;
  Buffer buffer;
};

/// Messages of one direction between this rank and a peer.
struct Window {
  int in_flight = 0;  ///< number of messages that Gloo holds
  std::deque<Message> queued;
};

/// Message that Gloo holds and this rank waits for.
struct Waiting {
  GlooMessage* message = nullptr;
  Deadline deadline;
  bool expired = false;
};

/// Outcome of a wait.
enum class Ended : std::uint8_t { delivered, expired, stopped, broken };

struct Sent {
  int peer = 0;
  std::unique_ptr<GlooMessage> message;
};

class GlooTransport : public transport::Transport {
 public:
  GlooTransport(const RankPlace& place, JobMonitor& monitor, std::unique_ptr<GlooGroup> group)
      : rank_(place.rank),
        monitor_(monitor),
        group_(std::move(group)),
        windows_{std::vector<Window>(static_cast<std::size_t>(place.ranks)),
                 std::vector<Window>(static_cast<std::size_t>(place.ranks))} {
    timer_ = std::thread([this] { time(); });
    for (std::size_t lane = 0; lane < transport::lanes; ++lane)
      deliverers_.emplace_back([this, lane] { deliver(static_cast<Lane>(lane)); });
    monitor_.on_error([this](const Error& error) { take_error(error); });
  }

  ~GlooTransport() override {
    if (!is_failed()) monitor_.leave(10s);
    monitor_.on_error(nullptr);
    {
      const std::lock_guard lock(mutex_);
      ends_ = true;
      for (const Waiting* waiting : waits_) waiting->message->abort();
      for (auto& changed : sent_changed_) changed.notify_all();
    }
    timer_.join();
    for (std::thread& deliverer : deliverers_) deliverer.join();
  }

  int rank() const override { return rank_; }
  int ranks() const override { return static_cast<int>(windows_.front().size()); }

  void send(const Address& to, Buffer message) override {
    DOVETAIL_ASSERT(to.peer != rank_);
    std::unique_lock lock(mutex_);
    if (fails_) return;
    ++undelivered_[static_cast<std::size_t>(to.lane)];
    enqueue(lock, Direction::out, {to, std::move(message)});
  }

  void receive(const Address& from, Buffer destination) override {
    DOVETAIL_ASSERT(from.peer != rank_);
    std::unique_lock lock(mutex_);
    if (fails_) return;
    DOVETAIL_ASSERT(!receives_.contains(from));
    receives_[from] = nullptr;
    enqueue(lock, Direction::in, {from, std::move(destination)});
  }

  Status wait(const Address& from, Deadline deadline) override {
    std::unique_lock lock(mutex_);
    const auto begin = Clock::now();
    hand_over_until(lock, from);
    const auto has = [&] {
      const auto found = receives_.find(from);
      return found != receives_.end() && found->second != nullptr;
    };
    Ended ended = Ended::expired;
    std::string reason;
    if (changed_.wait_until(lock, deadline, [&] { return fails_ || has(); }) && !fails_)
      ended = await(lock, *receives_[from], deadline, reason);
    if (fails_) return settled(lock);
    if (ended == Ended::delivered) {
      receives_.erase(from);
      advance(lock, Direction::in, from.peer);
      return {};
    }
    lock.unlock();
    if (ended == Ended::broken) return fail_with(peer_error(from.peer, "waited for " + text_of(from), reason));
    return fail_with(
        deadline_error_of(fmt::format("timed out after {} waiting for {}", seconds_since(begin), text_of(from))));
  }

  Status flush(Lane lane, Deadline deadline) override {
    std::unique_lock lock(mutex_);
    const auto begin = Clock::now();
    const int& undelivered = undelivered_[static_cast<std::size_t>(lane)];
    const bool in_time = changed_.wait_until(lock, deadline, [&] { return undelivered == 0 || fails_; });
    if (fails_) return settled(lock);
    if (in_time) return {};
    const auto& sent = sent_[static_cast<std::size_t>(lane)];
    const std::string peer = sent.empty() ? "another rank" : fmt::format("rank {}", sent.front().peer);
    lock.unlock();
    return fail_with(deadline_error_of(fmt::format("timed out after {} waiting for {} to receive its messages ({})",
                                                   seconds_since(begin), peer, name_of(lane))));
  }

  Status status() override {
    std::unique_lock lock(mutex_);
    return fails_ ? settled(lock) : Status();
  }

  void fail(const Error& error) noexcept override {
    {
      std::unique_lock lock(mutex_);
      if (fails_) return changed_.wait(lock, [this] { return error_.has_value(); });
      fails_ = true;
    }
    settle(monitor_.report_error(error).error);
  }

 private:
  Window& window(Direction direction, int peer) {
    return windows_[static_cast<std::size_t>(direction)][static_cast<std::size_t>(peer)];
  }

  bool is_failed() {
    const std::lock_guard lock(mutex_);
    return fails_;
  }

  Error peer_error(int peer, std::string_view action, std::string_view reason) const {
    return lost_peer_error(peer, rank_, action, reason);
  }
  Error deadline_error_of(std::string_view action) const { return deadline_error(rank_, action, &monitor_); }

  /// Adds a message to its window, and hands the next messages to Gloo.
  void enqueue(std::unique_lock<std::mutex>& lock, Direction direction, Message item) {
    const int peer = item.address.peer;
    window(direction, peer).queued.push_back(std::move(item));
    ++queued_;
    hand_over(lock, direction, peer, max_in_flight);
  }

  /// Accounts for a delivered message of the window.
  void advance(std::unique_lock<std::mutex>& lock, Direction direction, int peer) {
    --window(direction, peer).in_flight;
    ++delivered_;
    hand_over(lock, direction, peer, max_in_flight);
  }

  /// Hands messages of the window to Gloo, up to `limit` in flight.
  void hand_over(std::unique_lock<std::mutex>& lock, Direction direction, int peer, int limit) {
    Window& messages = window(direction, peer);
    while (!fails_ && !messages.queued.empty() && messages.in_flight < limit) {
      Message item = std::move(messages.queued.front());
      messages.queued.pop_front();
      start(lock, direction, std::move(item));
    }
  }

  /// Hands the receive that a caller waits for to Gloo, ahead of its turn.
  void hand_over_until(std::unique_lock<std::mutex>& lock, const Address& from) {
    std::deque<Message>& queued = window(Direction::in, from.peer).queued;
    const auto found =
        std::find_if(queued.begin(), queued.end(), [&](const Message& item) { return item.address == from; });
    if (fails_ || found == queued.end()) return;
    Message item = std::move(*found);
    queued.erase(found);
    start(lock, Direction::in, std::move(item));
  }

  /// Hands one message to Gloo. Releases the lock meanwhile, because Gloo may copy the whole message.
  void start(std::unique_lock<std::mutex>& lock, Direction direction, Message item) {
    const Address address = item.address;
    --queued_;
    ++window(direction, address.peer).in_flight;
    ++starting_;
    lock.unlock();
    std::unique_ptr<GlooMessage> message;
    std::string reason;
    try {
      message = direction == Direction::out ? group_->send(address.peer, tag_of(address), std::move(item.buffer))
                                            : group_->receive(address.peer, tag_of(address), std::move(item.buffer));
    } catch (const std::exception& error) {
      reason = reason_of(error);
    }
    lock.lock();
    if (fails_) message.reset();
    --starting_;
    if (fails_) return changed_.notify_all();
    if (!message) {
      lock.unlock();
      fail(peer_error(address.peer, direction == Direction::out ? "was sending it a message" : "was posting a receive",
                      reason));
      lock.lock();
    } else if (direction == Direction::in) {
      receives_[address] = std::move(message);
      changed_.notify_all();
    } else {
      const auto lane = static_cast<std::size_t>(address.lane);
      sent_[lane].push_back({address.peer, std::move(message)});
      sent_changed_[lane].notify_all();
    }
  }

  /// Waits for a message that Gloo holds. `message` must not move meanwhile.
  Ended await(std::unique_lock<std::mutex>& lock, GlooMessage& message, Deadline deadline, std::string& reason) {
    Waiting waiting{&message, deadline};
    const auto place = waits_.insert(waits_.end(), &waiting);
    lock.unlock();
    Ended ended = Ended::delivered;
    try {
      if (!message.wait()) ended = Ended::stopped;
    } catch (const std::exception& error) {
      ended = Ended::broken;
      reason = reason_of(error);
    }
    lock.lock();
    waits_.erase(place);
    if (fails_) changed_.notify_all();
    return ended == Ended::stopped && waiting.expired ? Ended::expired : ended;
  }

  /// Waits for the messages sent on a lane, in order. A flush waits for all of them anyway.
  void deliver(Lane lane) {
    std::unique_lock lock(mutex_);
    auto& sent = sent_[static_cast<std::size_t>(lane)];
    while (true) {
      sent_changed_[static_cast<std::size_t>(lane)].wait(lock, [&] { return fails_ || ends_ || !sent.empty(); });
      if (fails_ || ends_) return;
      std::string reason;
      const Ended ended = await(lock, *sent.front().message, Deadline::max(), reason);
      if (fails_ || ends_) return;
      const int peer = sent.front().peer;
      if (ended == Ended::broken) {
        lock.unlock();
        return fail(peer_error(peer, fmt::format("was sending it a message ({})", name_of(lane)), reason));
      }
      sent.pop_front();
      if (--undelivered_[static_cast<std::size_t>(lane)] == 0) changed_.notify_all();
      advance(lock, Direction::out, peer);
    }
  }

  /// Ends waits at their deadlines, and enlarges the windows when nothing moves.
  void time() {
    std::unique_lock lock(mutex_);
    std::int64_t delivered_before = 0;
    int ticks = 0;
    while (!ends_ && !fails_) {
      lock.unlock();
      std::this_thread::sleep_for(tick);
      lock.lock();
      for (Waiting* waiting : waits_)
        if (!waiting->expired && waiting->deadline <= Clock::now()) {
          waiting->expired = true;
          waiting->message->abort();
        }
      ticks = queued_ > 0 && delivered_ == delivered_before ? ticks + 1 : 0;
      delivered_before = delivered_;
      if (ticks < ticks_to_stall) continue;
      for (const Direction direction : {Direction::in, Direction::out})
        for (int peer = 0; peer < ranks(); ++peer)
          hand_over(lock, direction, peer, 2 * window(direction, peer).in_flight);
      ticks = 0;
    }
  }

  /// Handles an error that the monitor received from another rank.
  void take_error(const Error& error) {
    {
      const std::lock_guard lock(mutex_);
      if (std::exchange(fails_, true)) return;
    }
    settle(error);
  }

  /// Ends all waits with the job's first error. Gloo releases all buffers. REQUIRES: the caller has set fails_.
  void settle(const Error& error) {
    std::unique_lock lock(mutex_);
    for (const Waiting* waiting : waits_) waiting->message->abort();
    for (auto& changed : sent_changed_) changed.notify_all();
    changed_.notify_all();
    changed_.wait(lock, [this] { return waits_.empty() && starting_ == 0; });
    receives_.clear();
    for (auto& sent : sent_) sent.clear();
    for (auto& peers : windows_)
      for (Window& each : peers) each.queued.clear();
    error_ = error;
    changed_.notify_all();
  }

  Status settled(std::unique_lock<std::mutex>& lock) {
    changed_.wait(lock, [this] { return error_.has_value(); });
    return *error_;
  }

  Status fail_with(const Error& error) {
    fail(error);
    std::unique_lock lock(mutex_);
    return settled(lock);
  }

  int rank_;
  JobMonitor& monitor_;
  std::unique_ptr<GlooGroup> group_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::array<std::vector<Window>, 2> windows_;                ///< [direction][peer]
  std::map<Address, std::unique_ptr<GlooMessage>> receives_;  ///< null until Gloo holds the message
  std::array<std::deque<Sent>, transport::lanes> sent_;
  std::array<std::condition_variable, transport::lanes> sent_changed_;
  std::array<int, transport::lanes> undelivered_{};
  std::list<Waiting*> waits_;
  int queued_ = 0;
  int starting_ = 0;
  std::int64_t delivered_ = 0;
  bool fails_ = false;
  bool ends_ = false;
  std::optional<Error> error_;  ///< the job's error, once no message of this rank is in flight

  std::thread timer_;
  std::vector<std::thread> deliverers_;
};

std::string here_key(int rank) { return fmt::format("here/{}", rank); }

/// Returns the ranks that have not connected by the deadline, or the first error of a rank.
Result<std::vector<int>> find_missing(const RankPlace& place, JobStore& store, const JobMonitor& monitor,
                                      Deadline deadline) {
  std::vector<int> missing;
  for (int rank = 0; rank < place.ranks; ++rank) missing.push_back(rank);
  while (true) {
    std::vector<int> still_missing;
    for (const int rank : missing) {
      const Result<std::optional<std::string>> here = store.find(here_key(rank));
      if (!here.ok()) return ending_rank(place.rank, here.error());
      if (!*here) still_missing.push_back(rank);
    }
    missing = std::move(still_missing);
    if (const auto error = monitor.first_error()) return *error;
    if (missing.empty() || Clock::now() >= deadline) return missing;
    std::this_thread::sleep_for(5ms);
  }
}

}  // namespace

Result<std::unique_ptr<transport::Transport>> connect_gloo(const RankPlace& place, JobStore& store, JobMonitor& monitor,
                                                           Deadline deadline) {
  if (const base::Status announced = store.set(here_key(place.rank), ""); !announced.ok())
    return ending_rank(place.rank, announced.error());
  DOVETAIL_TRY(const std::vector<int> missing, find_missing(place, store, monitor, deadline));
  if (!missing.empty())
    return Error{base::Failure::lost, "", 0, 0,
                 fmt::format("rank{} {} of {} did not connect", missing.size() == 1 ? "" : "s",
                             fmt::join(missing, ", "), place.ranks)};
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
  try {
    return std::unique_ptr<transport::Transport>(
        std::make_unique<GlooTransport>(place, monitor, make_gloo_group(place, store, std::max(left, 1000ms))));
  } catch (const std::exception& error) {
    if (const auto first = monitor.first_error()) return *first;
    return deadline_error(place.rank, fmt::format("cannot reach the other ranks: {}", reason_of(error)), &monitor);
  }
}

}  // namespace dovetail::runtime
