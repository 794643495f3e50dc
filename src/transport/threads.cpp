#include "transport/threads.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <cstring>
#include <map>
#include <mutex>

namespace dovetail::transport {
namespace {

using base::Error;
using base::Status;

/// A message in transit: sent, with a posted buffer, or both.
struct Slot {
  std::optional<Buffer> sent;
  std::optional<Buffer> destination;
  Clock::time_point ready;  ///< when it may be received: after the delay, if it has one
  bool delivered = false;
};

/// The messages to one rank.
struct Mailbox {
  std::mutex mutex;
  std::condition_variable changed;
  std::map<Address, Slot> slots;
  std::array<int, lanes> undelivered{};  ///< [lane] number of messages that this rank has sent
};

/// State shared by all ranks.
struct Hub {
  Hub(int ranks, const std::vector<Fault>& all_faults)
      : mailboxes(static_cast<std::size_t>(ranks)), faults(all_faults) {
    for (auto& mailbox : mailboxes) mailbox = std::make_unique<Mailbox>();
  }

  Mailbox& of(int rank) { return *mailboxes[static_cast<std::size_t>(rank)]; }

  void fail(const Error& error) {
    {
      const std::lock_guard lock(error_mutex);
      if (!first_error) first_error = error;
      failed = true;
    }
    for (auto& mailbox : mailboxes) {
      // With the lock held, no rank is between its check of `failed` and its wait, and no message is being copied.
      const std::lock_guard lock(mailbox->mutex);
      mailbox->changed.notify_all();
    }
  }

  /// Waits until no message is being copied, then returns the first error. REQUIRES: the caller holds no lock.
  Status status() {
    if (!failed) return {};
    for (auto& mailbox : mailboxes) const std::lock_guard lock(mailbox->mutex);
    const std::lock_guard lock(error_mutex);
    return *first_error;
  }

  std::vector<std::unique_ptr<Mailbox>> mailboxes;
  std::vector<Fault> faults;
  std::atomic<bool> failed = false;
  std::mutex error_mutex;
  std::optional<Error> first_error;
};

Error lost(std::string message) { return {base::Failure::lost, "", 0, 0, std::move(message)}; }

class ThreadTransport : public Transport {
 public:
  ThreadTransport(std::shared_ptr<Hub> hub, int rank) : hub_(std::move(hub)), rank_(rank) {}

  int rank() const override { return rank_; }
  int ranks() const override { return static_cast<int>(hub_->mailboxes.size()); }

  void send(const Address& to, Buffer message) override {
    DOVETAIL_ASSERT(to.peer != rank_);
    const std::optional<Fault> fault = next_fault();
    if (hub_->failed) return;
    count(rank_, to.lane, 1);
    if (fault && fault->kind == Fault::Kind::drop) return;
    Mailbox& mailbox = hub_->of(to.peer);
    {
      const std::lock_guard lock(mailbox.mutex);
      Slot& slot = mailbox.slots[{rank_, to.lane, to.number}];
      DOVETAIL_ASSERT(!slot.sent && !slot.delivered);
      slot.sent = std::move(message);
      slot.ready = Clock::now() + (fault ? fault->delay : Clock::duration());
      if (!slot.destination || hub_->failed) return;
      deliver(slot);
      mailbox.changed.notify_all();
    }
    count(rank_, to.lane, -1);
  }

  void receive(const Address& from, Buffer destination) override {
    Mailbox& mailbox = hub_->of(rank_);
    {
      const std::lock_guard lock(mailbox.mutex);
      Slot& slot = mailbox.slots[from];
      DOVETAIL_ASSERT(!slot.destination && !slot.delivered);
      slot.destination = std::move(destination);
      if (!slot.sent || hub_->failed) return;
      deliver(slot);
      mailbox.changed.notify_all();
    }
    count(from.peer, from.lane, -1);
  }

  Status wait(const Address& from, Deadline deadline) override {
    Mailbox& mailbox = hub_->of(rank_);
    std::unique_lock lock(mailbox.mutex);
    Slot& slot = mailbox.slots[from];
    mailbox.changed.wait_until(lock, deadline, [&] { return slot.delivered || hub_->failed; });
    while (slot.delivered && !hub_->failed && Clock::now() < std::min(slot.ready, deadline))
      mailbox.changed.wait_until(lock, std::min(slot.ready, deadline));
    const bool in_time = slot.delivered && slot.ready <= Clock::now();
    if (in_time) mailbox.slots.erase(from);
    lock.unlock();
    if (!in_time)
      hub_->fail(
          lost(fmt::format("rank {} timed out waiting for message {} from rank {}", rank_, from.number, from.peer)));
    return in_time && !hub_->failed ? Status() : hub_->status();
  }

  Status flush(Lane lane, Deadline deadline) override {
    Mailbox& mailbox = hub_->of(rank_);
    std::unique_lock lock(mailbox.mutex);
    const int& undelivered = mailbox.undelivered[static_cast<std::size_t>(lane)];
    const bool in_time = mailbox.changed.wait_until(lock, deadline, [&] { return undelivered == 0 || hub_->failed; });
    lock.unlock();
    if (!in_time) hub_->fail(lost(fmt::format("rank {} timed out: a message that it sent was not received", rank_)));
    return hub_->status();
  }

  Status status() override { return hub_->status(); }

  void fail(const Error& error) noexcept override { hub_->fail(error); }

 private:
  std::optional<Fault> next_fault() {
    const int send = sends_++;
    const auto found = std::find_if(hub_->faults.begin(), hub_->faults.end(),
                                    [&](const Fault& fault) { return fault.rank == rank_ && fault.send == send; });
    if (found == hub_->faults.end()) return std::nullopt;
    if (found->kind == Fault::Kind::kill) hub_->fail(lost(fmt::format("rank {} is lost", rank_)));
    return *found;
  }

  static void deliver(Slot& slot) {
    DOVETAIL_ASSERT(slot.sent->size == slot.destination->size);
    // A message may be empty, and memcpy does not accept null.
    if (slot.sent->size > 0) std::memcpy(slot.destination->data, slot.sent->data, slot.sent->size);
    slot.sent.reset();
    slot.destination.reset();
    slot.delivered = true;
  }

  /// Changes the number of undelivered messages that a rank has sent.
  void count(int sender, Lane lane, int more) {
    Mailbox& mailbox = hub_->of(sender);
    const std::lock_guard lock(mailbox.mutex);
    mailbox.undelivered[static_cast<std::size_t>(lane)] += more;
    mailbox.changed.notify_all();
  }

  std::shared_ptr<Hub> hub_;
  int rank_;
  std::atomic<int> sends_ = 0;
};

}  // namespace

std::vector<std::unique_ptr<Transport>> connect_threads(int ranks, const std::vector<Fault>& faults) {
  const auto hub = std::make_shared<Hub>(ranks, faults);
  std::vector<std::unique_ptr<Transport>> ends;
  for (int rank = 0; rank < ranks; ++rank) ends.push_back(std::make_unique<ThreadTransport>(hub, rank));
  return ends;
}

}  // namespace dovetail::transport
