#include "runtime/model/tensor.h"

#include <ATen/ops/tensor.h>
#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <c10/util/Exception.h>
#include <torch/version.h>

#include <cstddef>
#include <memory>
#include <new>
#include <span>
#include <string_view>
#include <utility>

#include "base/assert.h"

namespace dovetail::runtime {
namespace {

transport::Numbers numbers_of(const Tensor& vector) {
  DOVETAIL_ASSERT(vector.is_contiguous());
  const auto count = static_cast<std::size_t>(vector.numel());
  if (vector.scalar_type() == at::kDouble) return std::span(vector.data_ptr<double>(), count);
  return std::span(vector.data_ptr<float>(), count);
}

thread_local MemoryCount* count_of_thread = nullptr;

/// Memory of a tensor, and the count that includes it.
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

/// Counts the allocations of another allocator.
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

/// Whether libtorch reports a failed allocation. It has a separate exception type only for GPUs.
bool is_out_of_memory(const c10::Error& error) {
  const std::string_view message = error.what_without_backtrace();
  return message.find("out of memory") != std::string_view::npos ||
         message.find("allocate memory") != std::string_view::npos ||
         message.find("not enough memory") != std::string_view::npos;
}

}  // namespace

Tensor integer_tensor(const std::vector<std::int64_t>& values, const at::Device& device) {
  return at::tensor(at::ArrayRef<std::int64_t>(values)).to(device);
}

base::Status with_numbers(const Tensor& vector, const at::Device& device, const transport::Collectives& collectives,
                          const std::function<base::Status(transport::Numbers)>& work) {
  const at::Device taken = collectives.takes_device_memory() ? device : at::Device(at::kCPU);
  if (vector.device() == taken) return work(numbers_of(vector));
  const Tensor copy = vector.to(taken);
  DOVETAIL_CHECK(work(numbers_of(copy)));
  vector.copy_(copy);
  return {};
}

void MemoryCount::add(std::int64_t bytes) {
  const std::int64_t live = live_ += bytes;
  std::int64_t peak = peak_;
  while (live > peak && !peak_.compare_exchange_weak(peak, live)) {
  }
}

std::int64_t MemoryCount::take_peak() { return peak_.exchange(live_); }

void count_memory() {
  // Never destroyed: tensors may live until the process ends.
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

base::Status unless_out_of_memory(const std::function<base::Status()>& work,
                                  const std::function<base::Error()>& make_error) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return make_error();
  } catch (const c10::Error& error) {
    if (!is_out_of_memory(error)) throw;
    return make_error();
  }
}

}  // namespace dovetail::runtime
