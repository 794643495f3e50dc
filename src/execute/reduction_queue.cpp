#include "execute/reduction_queue.h"

#include <utility>

namespace dovetail::execute {

ReductionQueue::ReductionQueue(std::size_t count, std::function<base::Status(std::size_t)> carry_out)
    : carry_out_(std::move(carry_out)), done_(count) {
  if (count > 0) thread_ = std::thread([this] { work(); });
}

ReductionQueue::~ReductionQueue() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

void ReductionQueue::start(std::size_t index) {
  const std::lock_guard lock(mutex_);
  started_.push_back(index);
  changed_.notify_all();
}

base::Status ReductionQueue::await(std::size_t index) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return done_[index] || !status_.ok(); });
  return status_;
}

void ReductionQueue::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return ends_ || !started_.empty(); });
    if (ends_ || !status_.ok()) return;
    const std::size_t index = started_.front();
    started_.pop_front();
    lock.unlock();
    base::Status status = carry_out_(index);
    lock.lock();
    status_ = std::move(status);
    done_[index] = true;
    changed_.notify_all();
  }
}

}  // namespace dovetail::execute
