#include "runtime/run/rank_times.h"

#include <cstddef>
#include <utility>
#include <vector>

namespace dovetail::runtime {
namespace {

using execute::ReplayTimes;
using execute::Span;

/// The bytes of spans, which keep themselves.
transport::Buffer buffer_of(std::vector<Span>& spans) {
  return {reinterpret_cast<std::byte*>(spans.data()), spans.size() * sizeof(Span), nullptr};
}

}  // namespace

base::Result<ReplayTimes> gather_times(transport::Transport& transport, std::span<const pipeline::Program> programs,
                                       const execute::Trace& own, transport::Clock::time_point origin,
                                       std::uint32_t number, transport::Deadline deadline) {
  std::vector<Span> spans = execute::spans_of(own, origin);
  if (transport.rank() != 0) {
    transport.send(transport::control_address(0, number), buffer_of(spans));
    DOVETAIL_CHECK(transport.flush(transport::Lane::control, deadline));
    return ReplayTimes{};
  }
  ReplayTimes all(programs.size());
  all.front() = std::move(spans);
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    all[rank].resize(programs[rank].code.size());
    transport.receive(transport::control_address(static_cast<int>(rank), number), buffer_of(all[rank]));
  }
  for (std::size_t rank = 1; rank < all.size(); ++rank)
    DOVETAIL_CHECK(transport.wait(transport::control_address(static_cast<int>(rank), number), deadline));
  return all;
}

}  // namespace dovetail::runtime
