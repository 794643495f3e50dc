#include "runtime/ranks/wait_errors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <thread>

namespace dovetail::runtime {
namespace {

using base::Error;
using transport::Clock;
using namespace std::chrono_literals;

Error lost(std::string message) { return {base::Failure::lost, "", 0, 0, std::move(message)}; }

}  // namespace

std::string_view name_of(transport::Lane lane) {
  constexpr std::array<std::string_view, transport::lanes> names{"programs", "reductions", "control"};
  return names[static_cast<std::size_t>(lane)];
}

std::string text_of(const transport::Address& message) {
  return fmt::format("message {} ({}) of rank {}", message.number, name_of(message.lane), message.peer);
}

Error peer_is_lost(int peer, int rank, std::string_view deed, std::string_view reason) {
  return lost(fmt::format("rank {} is lost: rank {} {}: {}", peer, rank, deed, reason));
}

Error is_late(int rank, std::string_view deed, JobWatch* watch) {
  std::vector<int> silent;
  if (watch != nullptr) silent = watch->silent_ranks();
  return lost(fmt::format("rank {} {}{}", rank, deed,
                          silent.empty() ? "" : fmt::format("; no sign of life of rank {}", fmt::join(silent, ", "))));
}

std::string seconds_since(Clock::time_point begin) {
  return fmt::format("{:.1f} s", std::chrono::duration<double>(Clock::now() - begin).count());
}

base::Status lose_collective(transport::Transport& transport, const std::vector<int>& ranks, std::string_view deed,
                             std::string_view reason) {
  constexpr auto for_a_reason = 500ms;
  constexpr auto pause = 50ms;
  for (const auto end = Clock::now() + for_a_reason; Clock::now() < end; std::this_thread::sleep_for(pause))
    DOVETAIL_CHECK(transport.status());
  std::vector<int> others = ranks;
  std::erase(others, transport.rank());
  const bool are_several = others.size() > 1;
  transport.fail(
      lost(fmt::format("{} {} is lost: rank {} {} {}: {}", are_several ? "one of the ranks" : "rank",
                       fmt::join(others, ", "), transport.rank(), deed, are_several ? "them" : "it", reason)));
  return transport.status();
}

}  // namespace dovetail::runtime
