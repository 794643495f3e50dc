#include "runtime/profile/machine_times.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <numeric>
#include <span>
#include <utility>

#include "base/stopwatch.h"
#include "runtime/profile/stopwatch.h"
#include "transport/ordered.h"

namespace dovetail::runtime {
namespace {

using base::Result;
using base::Status;
using cost::LinkProfile;
using cost::LinkWork;
using transport::Clock;
using transport::Transport;

constexpr std::array<std::size_t, 5> sizes{1 << 10, 1 << 14, 1 << 18, 1 << 21, 1 << 24};
constexpr int repetitions = 9;

/// Calls work(number, deadline) several times on each rank; the median of what they take, but for the first.
template <class Work>
Result<double> seconds_of(std::uint32_t& number, Clock::duration timeout, Work work) {
  std::vector<double> times;
  for (int i = 0; i <= repetitions; ++i) {
    const auto begin = Clock::now();
    DOVETAIL_CHECK(work(number++, begin + timeout));
    if (i > 0) times.push_back(base::seconds_since(begin));
  }
  return median(std::move(times));
}

/// A message from rank 0 to rank 1, and one back.
Status send_there_and_back(Transport& transport, std::uint32_t number, std::size_t bytes,
                           transport::Deadline deadline) {
  if (transport.rank() > 1) return {};
  const int other = 1 - transport.rank();
  const transport::Address there = transport::control_address(other, number, 0);
  const transport::Address back = transport::control_address(other, number, 1);
  const bool is_first = transport.rank() == 0;
  transport.receive(is_first ? back : there, transport::make_buffer(bytes));
  if (is_first) transport.send(there, transport::make_buffer(bytes));
  DOVETAIL_CHECK(transport.wait(is_first ? back : there, deadline));
  if (!is_first) transport.send(back, transport::make_buffer(bytes));
  return transport.flush(transport::Lane::control, deadline);
}

}  // namespace

RankSpeed measure_speed() {
  constexpr std::int64_t numbers = std::int64_t{1} << 25;
  constexpr std::int64_t side = 1024;
  const at::Tensor large = at::empty({numbers}, at::kFloat).fill_(1);
  const at::Tensor square = at::empty({side, side}, at::kFloat).fill_(1);
  volatile double sum = 0;
  const double reading = median_seconds([&] { sum = sum + large.sum().item<double>(); });
  const double product = median_seconds([&] { (void)at::mm(square, square); });
  return {static_cast<double>(numbers) * sizeof(float) / reading, 2.0 * side * side * side / product};
}

Result<std::vector<LinkProfile>> measure_links(Transport& transport, std::uint32_t number, Clock::duration timeout) {
  std::vector<LinkProfile> links;
  if (transport.ranks() == 1) return links;
  links = {{LinkWork::message, 2, {}}, {LinkWork::all_reduce, transport.ranks(), {}}};
  std::vector<int> ranks(static_cast<std::size_t>(transport.ranks()));
  std::iota(ranks.begin(), ranks.end(), 0);
  for (const std::size_t bytes : sizes) {
    DOVETAIL_TRY(const double there_and_back,
                 seconds_of(number, timeout, [&](std::uint32_t own, transport::Deadline deadline) {
                   return send_there_and_back(transport, own, bytes, deadline);
                 }));
    links[0].points.push_back({static_cast<double>(bytes), there_and_back / 2});
    std::vector<float> values(bytes / sizeof(float), 1);
    DOVETAIL_TRY(const double sum, seconds_of(number, timeout, [&](std::uint32_t own, transport::Deadline deadline) {
                   return transport::all_reduce(transport, {ranks, own}, std::span(values), deadline);
                 }));
    links[1].points.push_back({static_cast<double>(bytes), sum});
  }
  return links;
}

}  // namespace dovetail::runtime
