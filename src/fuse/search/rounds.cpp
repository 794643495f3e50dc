#include "fuse/search/rounds.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "parallel/exchange.h"

namespace dovetail::fuse {
namespace {

using parallel::put;
using parallel::take;
using pipeline::StoppedBy;

}  // namespace

std::string message_of(const RoundReport& report) {
  std::string message;
  put(message, report.interrupted ? 1 : 0);
  put(message, report.planned);
  put(message, static_cast<std::int64_t>(report.chains.size()));
  for (std::size_t i = 0; i < report.chains.size(); ++i) {
    const ChainBest& best = report.bests[i];
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
    ChainBest& best = report.bests.emplace_back();
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

namespace {

/// Proposals of a chain between two checks of the clock. A run that the clock ends cannot be reproduced from its
/// iterations, and its record says so.
constexpr std::int64_t slice = 1 << 16;

ChainBest chain_best_of(const Chain& chain) {
  return {chain.best_makespan, chain.best_peak, chain.best_score, chain.best};
}

bool is_same(const ChainBest& a, const Chain& b) {
  return a.makespan == b.best_makespan && a.peak == b.best_peak && a.score == b.best_score;
}

}  // namespace

Rounds::Rounds(const pipeline::OpGraph& graph, const std::vector<pipeline::Order>& starts, const SolveOptions& options,
               std::int64_t planned_iterations)
    : options_(options),
      // A multiple of the cooling's steps.
      longest_(std::clamp<std::int64_t>(static_cast<std::int64_t>(graph.size()) / 16 * Cooling::iterations_a_step,
                                        1 << 21, 1 << 22)),
      shared_({options.chains, options.threads, options.time_limit_seconds, options.cancellation, options.exchange}),
      planned_(planned_iterations) {
  std::vector<ChainBest> begun;
  for (const pipeline::Order& start : starts) begun.push_back(chain_best_of(chain_from(graph, start, 0, 0)));
  const auto start_of = [&](int number) { return static_cast<std::size_t>(number) % starts.size(); };
  for (int number = 0; number < options.chains; ++number) chain_bests_.push_back(begun[start_of(number)]);
  for (const int number : shared_.numbers())
    chains_.push_back(chain_from(graph, starts[start_of(number)], options.seed, static_cast<std::uint64_t>(number)));
}

std::optional<StoppedBy> Rounds::stopped() const {
  if (!shared_.ended()) return std::nullopt;
  return *shared_.ended() == parallel::EndedBy::time ? StoppedBy::time : StoppedBy::interrupt;
}

std::size_t Rounds::best() const {
  std::size_t best = 0;
  for (std::size_t chain = 1; chain < chain_bests_.size(); ++chain)
    if (is_better(chain_bests_[chain], chain_bests_[best])) best = chain;
  return best;
}

void Rounds::run(std::string_view phase, std::int64_t iterations, const std::function<void(std::size_t own)>& work) {
  std::vector<RoundReport> reports;
  for (const std::string& message : shared_.run(work, [this] { return message_of(report()); }))
    reports.push_back(report_of(message));
  done_ += iterations;
  take(std::move(reports));
  if (options_.on_progress) show_progress(phase);
}

/// Returns what improved in this process.
RoundReport Rounds::report() const {
  RoundReport report;
  for (std::size_t own = 0; own < chains_.size(); ++own) {
    if (is_same(chain_bests_[static_cast<std::size_t>(number(own))], chains_[own])) continue;
    report.chains.push_back(number(own));
    report.bests.push_back(chain_best_of(chains_[own]));
  }
  return report;
}

void Rounds::run_rounds(std::string_view phase, std::int64_t iterations, const std::function<bool()>& is_over,
                        const std::function<void(std::size_t own, std::int64_t count)>& work) {
  for (std::int64_t done = 0; done < iterations && !stopped() && !is_over(); done += longest_) {
    const std::int64_t count = std::min(longest_, iterations - done);
    run(phase, count, [&](std::size_t own) {
      for (std::int64_t begun = 0; begun < count && !shared_.is_cancelled() && !shared_.is_late(); begun += slice)
        work(own, std::min(slice, count - begun));
    });
  }
}

void Rounds::take(std::vector<RoundReport> reports) {
  const ChainBest before = chain_bests_[best()];
  for (RoundReport& report : reports)
    for (std::size_t i = 0; i < report.chains.size(); ++i)
      chain_bests_[static_cast<std::size_t>(report.chains[i])] = std::move(report.bests[i]);
  const ChainBest& now = chain_bests_[best()];
  if (on_better && is_better(now, before)) on_better(now);
}

void Rounds::gather(const std::function<bool(const ChainBest&)>& good, std::size_t otherwise) {
  const ChainBest fallback = chain_bests_[otherwise];
  for (std::size_t own = 0; own < chains_.size(); ++own) {
    const ChainBest& chain_best = chain_bests_[static_cast<std::size_t>(number(own))];
    restart(chains_[own], good(chain_best) ? chain_best.order : fallback.order);
  }
  for (ChainBest& chain_best : chain_bests_)
    if (!good(chain_best)) chain_best = fallback;
}

void Rounds::show_progress(std::string_view phase) const {
  const ChainBest& now = chain_bests_[best()];
  const double speed = static_cast<double>(done_) / std::max(seconds(), 1e-9);
  const double seconds_left = done_ > 0 ? static_cast<double>(planned_ - done_) / speed : 0;
  options_.on_progress({phase, base::Ticks(now.makespan), base::Memory(now.peak), done_, planned_,
                        speed * static_cast<double>(options_.chains),
                        limit_seconds_left(options_, seconds_left, seconds())});
}

}  // namespace dovetail::fuse
