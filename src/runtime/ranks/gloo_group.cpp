#include "runtime/ranks/gloo_group.h"

#include <ATen/ops/from_blob.h>

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "runtime/ranks/gloo_process_group.h"

namespace dovetail::runtime {
namespace {

using transport::Buffer;

/// Longer than any run. A wait that Gloo ends closes all connections; ours are ended by abort().
constexpr std::chrono::milliseconds for_ever = std::chrono::hours(24 * 365);

/// The bytes of a buffer as c10d wants them; they keep what owns it.
std::vector<at::Tensor> tensors_of(Buffer buffer) {
  std::byte* const data = buffer.data;
  const std::int64_t size = static_cast<std::int64_t>(buffer.size);
  return {at::from_blob(
      data, {size}, [owner = std::move(buffer.owner)](void*) {}, at::TensorOptions(at::kCPU).dtype(at::kByte))};
}

class WorkMessage : public GlooMessage {
 public:
  explicit WorkMessage(c10::intrusive_ptr<c10d::Work> work) : work_(std::move(work)) {}
  bool wait() override { return work_->wait(for_ever); }
  void abort() override { work_->abort(); }

 private:
  c10::intrusive_ptr<c10d::Work> work_;
};

class ProcessGroup : public GlooGroup {
 public:
  explicit ProcessGroup(c10::intrusive_ptr<c10d::ProcessGroupGloo> group) : group_(std::move(group)) {}

  std::unique_ptr<GlooMessage> send(int peer, int tag, Buffer message) override {
    std::vector<at::Tensor> tensors = tensors_of(std::move(message));
    return std::make_unique<WorkMessage>(group_->send(tensors, peer, tag));
  }

  std::unique_ptr<GlooMessage> receive(int peer, int tag, Buffer room) override {
    std::vector<at::Tensor> tensors = tensors_of(std::move(room));
    return std::make_unique<WorkMessage>(group_->recv(tensors, peer, tag));
  }

 private:
  c10::intrusive_ptr<c10d::ProcessGroupGloo> group_;
};

}  // namespace

std::unique_ptr<GlooGroup> make_gloo_group(const RankPlace& place, JobStore& store, std::chrono::milliseconds timeout) {
  std::vector<int> all(static_cast<std::size_t>(place.ranks));
  std::iota(all.begin(), all.end(), 0);
  return std::make_unique<ProcessGroup>(connect_process_group(place, store, "gloo", all, timeout));
}

}  // namespace dovetail::runtime
