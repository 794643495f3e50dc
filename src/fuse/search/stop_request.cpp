#include "fuse/search/stop_request.h"

#include <algorithm>

#include "base/stopwatch.h"
#include "fuse/search/rounds.h"

namespace dovetail::fuse {

bool StopRequest::poll() {
  RoundReport own;
  own.interrupted = options_.cancellation && options_.cancellation->requested();
  const auto reports = exchange_reports(options_.exchange, own);
  if (!reports.ok()) lost_ = reports.error();
  is_requested_ = !reports.ok() || std::any_of(reports->begin(), reports->end(),
                                               [](const RoundReport& report) { return report.interrupted; });
  return is_requested_;
}

bool StopRequest::is_late(std::chrono::steady_clock::time_point begin) const {
  if (options_.is_shared() || !options_.time_limit_seconds) return false;
  return base::seconds_since(begin) >= *options_.time_limit_seconds;
}

}  // namespace dovetail::fuse
