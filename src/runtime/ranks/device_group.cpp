#include "runtime/ranks/device_group.h"

#include <algorithm>
#include <thread>

#include "base/assert.h"
#include "runtime/ranks/job_monitor.h"
#include "runtime/ranks/rank_note.h"

namespace dovetail::runtime {

using transport::Clock;
using namespace std::chrono_literals;

DeviceGroups::~DeviceGroups() {
  if (transport_.status().ok()) return;
  for (auto& [ranks, group] : groups_) static_cast<void>(group.release());
}

base::Status DeviceGroups::open(const std::vector<int>& ranks, transport::Deadline deadline) {
  if (groups_.contains(ranks)) return {};
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
  try {
    groups_.emplace(ranks, connect_(use_, ranks, std::max(left, 1ms)));
    return {};
  } catch (const std::exception& error) {
    return fail_collective(transport_, ranks, "was connecting to", reason_of(error));
  }
}

DeviceGroup& DeviceGroups::of(const std::vector<int>& ranks) {
  const auto found = groups_.find(ranks);
  DOVETAIL_ASSERT(found != groups_.end());
  return *found->second;
}

WorkEnd await(DeviceWork& work, transport::Transport& transport, transport::Deadline deadline, std::string& reason) {
  // Most work ends immediately, so the first pauses are short.
  constexpr auto max_pause = 200us;
  for (std::chrono::microseconds pause = 1us;; pause = std::min<std::chrono::microseconds>(2 * pause, max_pause)) {
    try {
      if (work.is_done()) return WorkEnd::done;
    } catch (const std::exception& error) {
      reason = reason_of(error);
      return WorkEnd::broken;
    }
    if (!transport.status().ok()) return WorkEnd::failed;
    if (Clock::now() >= deadline) return WorkEnd::late;
    std::this_thread::sleep_for(pause);
  }
}

}  // namespace dovetail::runtime
