#include "fuse/search/standings.h"

#include <utility>

#include "base/assert.h"
#include "parallel/message.h"

namespace dovetail::fuse {

using parallel::put;
using parallel::take;

std::string message_of(const RoundReport& report) {
  std::string message;
  put(message, report.interrupted ? 1 : 0);
  put(message, report.planned);
  put(message, static_cast<std::int64_t>(report.chains.size()));
  for (std::size_t i = 0; i < report.chains.size(); ++i) {
    const Standing& best = report.bests[i];
    put(message, report.chains[i]);
    put(message, best.makespan);
    put(message, best.peak);
    put(message, best.score);
    put(message, static_cast<std::int64_t>(best.order.devices.size()));
    for (const auto& device : best.order.devices) {
      put(message, static_cast<std::int64_t>(device.size()));
      for (const pipeline::OpId op : device) put(message, op.value);
    }
  }
  return message;
}

RoundReport report_of(std::string_view message) {
  RoundReport report;
  report.interrupted = take(message) != 0;
  report.planned = take(message);
  const std::int64_t chains = take(message);
  for (std::int64_t i = 0; i < chains; ++i) {
    report.chains.push_back(static_cast<int>(take(message)));
    Standing& best = report.bests.emplace_back();
    best.makespan = take(message);
    best.peak = take(message);
    best.score = take(message);
    best.order.devices.resize(static_cast<std::size_t>(take(message)));
    for (auto& device : best.order.devices) {
      device.resize(static_cast<std::size_t>(take(message)));
      for (pipeline::OpId& op : device) op = pipeline::OpId(static_cast<std::int32_t>(take(message)));
    }
  }
  DOVETAIL_ASSERT(message.empty());
  return report;
}

base::Result<std::vector<RoundReport>> exchange_reports(const parallel::Exchange* exchange, const RoundReport& own) {
  if (!exchange || exchange->ranks == 1) return std::vector{own};
  DOVETAIL_TRY(const std::vector<std::string> messages, exchange->all_gather(message_of(own)));
  std::vector<RoundReport> reports;
  reports.reserve(messages.size());
  for (const std::string& message : messages) reports.push_back(report_of(message));
  return reports;
}

}  // namespace dovetail::fuse
