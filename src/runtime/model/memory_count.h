// How much memory tensors take.
#pragma once

#include <atomic>
#include <cstdint>

namespace dovetail::runtime {

/// Bytes of tensors in host memory. What libraries take for themselves is not among them.
class MemoryCount {
 public:
  void add(std::int64_t bytes);
  std::int64_t live() const { return live_; }
  /// The most that were there since it was last asked.
  std::int64_t take_peak();

 private:
  std::atomic<std::int64_t> live_ = 0;
  std::atomic<std::int64_t> peak_ = 0;
};

/// From now on tensors are counted: in process_memory(), but for those of a CountedThread. Those that are there are
/// not. Once more it does nothing.
void count_memory();

MemoryCount& process_memory();

/// As long as it is there, what this thread's tensors take is counted in `count`, whichever thread gives them back.
/// `count` outlives them.
class CountedThread {
 public:
  explicit CountedThread(MemoryCount& count);
  ~CountedThread();
  CountedThread(const CountedThread&) = delete;
  CountedThread& operator=(const CountedThread&) = delete;

 private:
  MemoryCount* before_;
};

}  // namespace dovetail::runtime
