#include "runtime/model/memory_count.h"

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <torch/version.h>

#include <cstddef>
#include <memory>
#include <utility>

namespace dovetail::runtime {
namespace {

thread_local MemoryCount* count_of_thread = nullptr;

/// A tensor's memory, and where it is counted.
struct Counted {
  Counted(c10::DataPtr of, std::size_t size, MemoryCount& where)
      : memory(std::move(of)), bytes(static_cast<std::int64_t>(size)), count(where) {
    count.add(bytes);
  }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  ~Counted() { count.add(-bytes); }

  c10::DataPtr memory;
  std::int64_t bytes;
  MemoryCount& count;
};

/// Counts what another one allocates.
class CountingAllocator final : public c10::Allocator {
 public:
  explicit CountingAllocator(c10::Allocator& allocator) : allocator_(allocator) {}

#if TORCH_VERSION_MAJOR >= 2
  c10::DataPtr allocate(std::size_t bytes) override { return counted(bytes); }
  void copy_data(void* to, const void* from, std::size_t bytes) const override { default_copy_data(to, from, bytes); }
#else
  c10::DataPtr allocate(std::size_t bytes) const override { return counted(bytes); }
#endif

 private:
  c10::DataPtr counted(std::size_t bytes) const {
    auto of = std::make_unique<Counted>(allocator_.allocate(bytes), bytes,
                                        count_of_thread != nullptr ? *count_of_thread : process_memory());
    void* const data = of->memory.get();
    const auto end = [](void* counted) { delete static_cast<Counted*>(counted); };
    return {data, of.release(), end, c10::Device(c10::DeviceType::CPU)};
  }

  c10::Allocator& allocator_;
};

}  // namespace

void MemoryCount::add(std::int64_t bytes) {
  const std::int64_t live = live_ += bytes;
  std::int64_t peak = peak_;
  while (live > peak && !peak_.compare_exchange_weak(peak, live)) {
  }
}

std::int64_t MemoryCount::take_peak() { return peak_.exchange(live_); }

void count_memory() {
  // It stays as long as tensors may: to the end of the process.
  static CountingAllocator* const allocator = [] {
    auto* const made = new CountingAllocator(*c10::GetCPUAllocator());
    constexpr std::uint8_t over_others = 1;
    c10::SetCPUAllocator(made, over_others);
    return made;
  }();
  (void)allocator;
}

MemoryCount& process_memory() {
  static MemoryCount* const count = new MemoryCount;
  return *count;
}

CountedThread::CountedThread(MemoryCount& count) : before_(std::exchange(count_of_thread, &count)) {}
CountedThread::~CountedThread() { count_of_thread = before_; }

}  // namespace dovetail::runtime
