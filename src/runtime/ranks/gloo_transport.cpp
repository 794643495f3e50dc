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
#include "runtime/ranks/error_text.h"
#include "runtime/ranks/gloo_group.h"
#include "runtime/ranks/rank_note.h"
#include "runtime/ranks/wait_errors.h"

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

/// What Gloo has at a time of a peer's messages, one way. It slows down with many.
constexpr int max_under_way = 256;
/// How precise deadlines are.
constexpr auto tick = 20ms;
/// Where nothing moved for so many ticks, messages do not come in the order in which they were said: Gloo gets more.
constexpr int ticks_to_stall = 3;

int tag_of(const Address& address) {
  constexpr std::uint32_t bits = 29;
  static_assert(transport::lanes <= (1U << (31 - bits)));
  return static_cast<int>((static_cast<std::uint32_t>(address.lane) << bits) | (address.number & ((1U << bits) - 1)));
}

enum class Way : std::uint8_t { in, out };

/// A message that waits for its turn.
struct Item {
  Address address;
  Buffer buffer;
};

/// The messages of one way between this rank and a peer.
struct Window {
  int under_way = 0;  ///< that Gloo has
  std::deque<Item> queued;
};

/// A message that Gloo has and this rank waits for.
struct Waiting {
  GlooMessage* message = nullptr;
  Deadline deadline;
  bool expired = false;
};

/// How a wait ended.
enum class Ended : std::uint8_t { delivered, expired, stopped, broken };

struct Sent {
  int peer = 0;
  std::unique_ptr<GlooMessage> message;
};

class GlooTransport : public transport::Transport {
 public:
  GlooTransport(const RankPlace& place, JobWatch& watch, std::unique_ptr<GlooGroup> group)
      : rank_(place.rank),
        watch_(watch),
        group_(std::move(group)),
        windows_{std::vector<Window>(static_cast<std::size_t>(place.ranks)),
                 std::vector<Window>(static_cast<std::size_t>(place.ranks))} {
    timer_ = std::thread([this] { time(); });
    for (std::size_t lane = 0; lane < transport::lanes; ++lane)
      deliverers_.emplace_back([this, lane] { deliver(static_cast<Lane>(lane)); });
    watch_.on_error([this](const Error& error) { hear(error); });
  }

  ~GlooTransport() override {
    if (!is_failed()) watch_.leave(10s);
    watch_.on_error(nullptr);
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
    enqueue(lock, Way::out, {to, std::move(message)});
  }

  void receive(const Address& from, Buffer room) override {
    DOVETAIL_ASSERT(from.peer != rank_);
    std::unique_lock lock(mutex_);
    if (fails_) return;
    DOVETAIL_ASSERT(!rooms_.contains(from));
    rooms_[from] = nullptr;
    enqueue(lock, Way::in, {from, std::move(room)});
  }

  Status wait(const Address& from, Deadline deadline) override {
    std::unique_lock lock(mutex_);
    const auto begin = Clock::now();
    hurry(lock, from);
    const auto has = [&] {
      const auto found = rooms_.find(from);
      return found != rooms_.end() && found->second != nullptr;
    };
    Ended ended = Ended::expired;
    std::string reason;
    if (changed_.wait_until(lock, deadline, [&] { return fails_ || has(); }) && !fails_)
      ended = await(lock, *rooms_[from], deadline, reason);
    if (fails_) return settled(lock);
    if (ended == Ended::delivered) {
      rooms_.erase(from);
      advance(lock, Way::in, from.peer);
      return {};
    }
    lock.unlock();
    if (ended == Ended::broken) return fail_with(gone(from.peer, "waited for its " + text_of(from), reason));
    return fail_with(late(fmt::format("waited {} in vain for {}", seconds_since(begin), text_of(from))));
  }

  Status flush(Lane lane, Deadline deadline) override {
    std::unique_lock lock(mutex_);
    const auto begin = Clock::now();
    const int& undelivered = undelivered_[static_cast<std::size_t>(lane)];
    const bool in_time = changed_.wait_until(lock, deadline, [&] { return undelivered == 0 || fails_; });
    if (fails_) return settled(lock);
    if (in_time) return {};
    const auto& sent = sent_[static_cast<std::size_t>(lane)];
    const std::string peer = sent.empty() ? "another" : fmt::format("rank {}", sent.front().peer);
    lock.unlock();
    return fail_with(late(fmt::format("waited {} in vain until {} takes what it was sent ({})", seconds_since(begin),
                                      peer, name_of(lane))));
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
    settle(watch_.say(error).error);
  }

 private:
  Window& window(Way way, int peer) { return windows_[static_cast<std::size_t>(way)][static_cast<std::size_t>(peer)]; }

  bool is_failed() {
    const std::lock_guard lock(mutex_);
    return fails_;
  }

  Error gone(int peer, std::string_view deed, std::string_view reason) const {
    return peer_is_lost(peer, rank_, deed, reason);
  }
  Error late(std::string_view deed) const { return is_late(rank_, deed, &watch_); }

  /// Adds a message to its window, and gives Gloo what has its turn.
  void enqueue(std::unique_lock<std::mutex>& lock, Way way, Item item) {
    const int peer = item.address.peer;
    window(way, peer).queued.push_back(std::move(item));
    ++queued_;
    hand_over(lock, way, peer, max_under_way);
  }

  /// A message of the window is delivered.
  void advance(std::unique_lock<std::mutex>& lock, Way way, int peer) {
    --window(way, peer).under_way;
    ++delivered_;
    hand_over(lock, way, peer, max_under_way);
  }

  /// Gives Gloo what the window has, up to `limit` messages under way.
  void hand_over(std::unique_lock<std::mutex>& lock, Way way, int peer, int limit) {
    Window& messages = window(way, peer);
    while (!fails_ && !messages.queued.empty() && messages.under_way < limit) {
      Item item = std::move(messages.queued.front());
      messages.queued.pop_front();
      start(lock, way, std::move(item));
    }
  }

  /// Gives Gloo the receive that is waited for, before its turn.
  void hurry(std::unique_lock<std::mutex>& lock, const Address& from) {
    std::deque<Item>& queued = window(Way::in, from.peer).queued;
    const auto found =
        std::find_if(queued.begin(), queued.end(), [&](const Item& item) { return item.address == from; });
    if (fails_ || found == queued.end()) return;
    Item item = std::move(*found);
    queued.erase(found);
    start(lock, Way::in, std::move(item));
  }

  /// Gives Gloo one message, without the lock: it may copy all of it.
  void start(std::unique_lock<std::mutex>& lock, Way way, Item item) {
    const Address address = item.address;
    --queued_;
    ++window(way, address.peer).under_way;
    ++starting_;
    lock.unlock();
    std::unique_ptr<GlooMessage> message;
    std::string reason;
    try {
      message = way == Way::out ? group_->send(address.peer, tag_of(address), std::move(item.buffer))
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
      fail(gone(address.peer, way == Way::out ? "sent it a message" : "made room for a message", reason));
      lock.lock();
    } else if (way == Way::in) {
      rooms_[address] = std::move(message);
      changed_.notify_all();
    } else {
      const auto lane = static_cast<std::size_t>(address.lane);
      sent_[lane].push_back({address.peer, std::move(message)});
      sent_changed_[lane].notify_all();
    }
  }

  /// Waits for a message that Gloo has. It stays where it is as long.
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

  /// Follows what is sent on a lane, in that order: whoever flushes the lane waits for all of it anyway.
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
        return fail(gone(peer, fmt::format("sent it a message ({})", name_of(lane)), reason));
      }
      sent.pop_front();
      if (--undelivered_[static_cast<std::size_t>(lane)] == 0) changed_.notify_all();
      advance(lock, Way::out, peer);
    }
  }

  /// Ends waits at their deadlines, and opens the windows where nothing moves.
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
      for (const Way way : {Way::in, Way::out})
        for (int peer = 0; peer < ranks(); ++peer) hand_over(lock, way, peer, 2 * window(way, peer).under_way);
      ticks = 0;
    }
  }

  /// What the watch heard of another rank.
  void hear(const Error& error) {
    {
      const std::lock_guard lock(mutex_);
      if (std::exchange(fails_, true)) return;
    }
    settle(error);
  }

  /// Ends all waits with the job's first error; Gloo lets go of all buffers. REQUIRES: the caller has set fails_.
  void settle(const Error& error) {
    std::unique_lock lock(mutex_);
    for (const Waiting* waiting : waits_) waiting->message->abort();
    for (auto& changed : sent_changed_) changed.notify_all();
    changed_.notify_all();
    changed_.wait(lock, [this] { return waits_.empty() && starting_ == 0; });
    rooms_.clear();
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
  JobWatch& watch_;
  std::unique_ptr<GlooGroup> group_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::array<std::vector<Window>, 2> windows_;             ///< [way][peer]
  std::map<Address, std::unique_ptr<GlooMessage>> rooms_;  ///< without a message as long as Gloo does not have it
  std::array<std::deque<Sent>, transport::lanes> sent_;
  std::array<std::condition_variable, transport::lanes> sent_changed_;
  std::array<int, transport::lanes> undelivered_{};
  std::list<Waiting*> waits_;
  int queued_ = 0;
  int starting_ = 0;
  std::int64_t delivered_ = 0;
  bool fails_ = false;
  bool ends_ = false;
  std::optional<Error> error_;  ///< the job's, once nothing of this rank's is under way

  std::thread timer_;
  std::vector<std::thread> deliverers_;
};

std::string here_key(int rank) { return fmt::format("here/{}", rank); }

/// The ranks that have not come by the deadline, or the first error of one.
Result<std::vector<int>> find_missing(const RankPlace& place, JobStore& store, const JobWatch& watch,
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
    if (const auto error = watch.first_error()) return *error;
    if (missing.empty() || Clock::now() >= deadline) return missing;
    std::this_thread::sleep_for(5ms);
  }
}

}  // namespace

Result<std::unique_ptr<transport::Transport>> connect_gloo(const RankPlace& place, JobStore& store, JobWatch& watch,
                                                           Deadline deadline) {
  if (const base::Status told = store.set(here_key(place.rank), ""); !told.ok())
    return ending_rank(place.rank, told.error());
  DOVETAIL_TRY(const std::vector<int> missing, find_missing(place, store, watch, deadline));
  if (!missing.empty())
    return Error{base::Failure::lost, "", 0, 0,
                 fmt::format("rank {} of {} did not come", fmt::join(missing, ", "), place.ranks)};
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
  try {
    return std::unique_ptr<transport::Transport>(
        std::make_unique<GlooTransport>(place, watch, make_gloo_group(place, store, std::max(left, 1000ms))));
  } catch (const std::exception& error) {
    if (const auto first = watch.first_error()) return *first;
    return is_late(place.rank, fmt::format("does not reach the others: {}", reason_of(error)), &watch);
  }
}

}  // namespace dovetail::runtime
