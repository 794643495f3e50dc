#include "runtime/ranks/device_group.h"

#include <algorithm>
#include <thread>

#include "runtime/ranks/error_text.h"

namespace dovetail::runtime {

using namespace std::chrono_literals;

WorkEnd await(DeviceWork& work, transport::Transport& transport, transport::Deadline deadline, std::string& reason) {
  // Most is done at once: who asks seldom would wait longer than the work takes.
  constexpr auto max_pause = 200us;
  for (std::chrono::microseconds pause = 1us;; pause = std::min<std::chrono::microseconds>(2 * pause, max_pause)) {
    try {
      if (work.is_done()) return WorkEnd::done;
    } catch (const std::exception& error) {
      reason = reason_of(error);
      return WorkEnd::broken;
    }
    if (!transport.status().ok()) return WorkEnd::failed;
    if (transport::Clock::now() >= deadline) return WorkEnd::late;
    std::this_thread::sleep_for(pause);
  }
}

}  // namespace dovetail::runtime
