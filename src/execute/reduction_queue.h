// A rank's reductions, carried out one after the other beside its ops.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "base/result.h"

namespace dovetail::execute {

/// A thread that carries out what is started, in that order; after an error nothing more.
class ReductionQueue {
 public:
  /// `carry_out(index)` does one of `count`.
  ReductionQueue(std::size_t count, std::function<base::Status(std::size_t)> carry_out);
  /// Ends when what is under way has ended; what has not begun is left.
  ~ReductionQueue();
  ReductionQueue(const ReductionQueue&) = delete;
  ReductionQueue& operator=(const ReductionQueue&) = delete;

  void start(std::size_t index);
  /// Until that one is done, or the error that ended the queue.
  base::Status await(std::size_t index);

 private:
  void work();

  std::function<base::Status(std::size_t)> carry_out_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::size_t> started_;
  std::vector<bool> done_;
  base::Status status_;
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace dovetail::execute
