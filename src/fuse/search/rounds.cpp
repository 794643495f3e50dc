#include "fuse/search/rounds.h"

#include <algorithm>
#include <numeric>

#include "parallel/for_each_index.h"

namespace dovetail::fuse {
namespace {

using pipeline::StoppedBy;

/// Proposals of a chain between two looks at the clock. A run that this ends is not repeated by its iterations, and says so.
constexpr std::int64_t slice = 1 << 16;

Standing standing_of(const Chain& chain) { return {chain.best_makespan, chain.best_peak, chain.best_score, chain.best}; }

bool is_same(const Standing& a, const Chain& b) {
  return a.makespan == b.best_makespan && a.peak == b.best_peak && a.score == b.best_score;
}

}  // namespace

Rounds::Rounds(const pipeline::OpGraph& graph, const std::vector<pipeline::Order>& starts, const SolveOptions& options,
               std::int64_t planned_iterations)
    : options_(options),
      // Whole steps of a cooling.
      longest_(std::clamp<std::int64_t>(static_cast<std::int64_t>(graph.size()) / 16 * Cooling::iterations_a_step, 1 << 21, 1 << 22)),
      planned_(planned_iterations) {
  const int ranks = options.exchange ? options.exchange->ranks : 1;
  const int rank = options.exchange ? options.exchange->rank : 0;
  std::vector<Standing> begun;
  for (const pipeline::Order& start : starts) begun.push_back(standing_of(chain_from(graph, start, 0, 0)));
  for (int number = 0; number < options.chains; ++number) {
    const std::size_t start = static_cast<std::size_t>(number) % starts.size();
    standings_.push_back(begun[start]);
    if (number % ranks != rank) continue;
    chains_.push_back(chain_from(graph, starts[start], options.seed, static_cast<std::uint64_t>(number)));
    numbers_.push_back(number);
  }
  last_seconds_.resize(chains_.size());
}

std::size_t Rounds::best() const {
  std::size_t best = 0;
  for (std::size_t chain = 1; chain < standings_.size(); ++chain)
    if (is_better(standings_[chain], standings_[best])) best = chain;
  return best;
}

void Rounds::run(std::string_view phase, std::int64_t iterations, const std::function<void(std::size_t own)>& work) {
  // Whatever happens, all processes come to the border of a round.
  if (!is_cancelled()) work_on_all(work);
  done_ += iterations;
  RoundReport report;
  report.interrupted = is_cancelled();
  report.out_of_time = is_late();
  for (std::size_t own = 0; own < chains_.size(); ++own) {
    if (is_same(standings_[static_cast<std::size_t>(numbers_[own])], chains_[own])) continue;
    report.chains.push_back(numbers_[own]);
    report.bests.push_back(standing_of(chains_[own]));
  }
  auto reports = exchange_reports(options_.exchange, report);
  if (!reports.ok()) {
    lost_ = reports.error();
    stopped_ = StoppedBy::interrupt;
    reports = std::vector{std::move(report)};
  }
  take(std::move(reports).value());
  if (options_.on_progress) show_progress(phase);
}

void Rounds::run_rounds(std::string_view phase, std::int64_t iterations, const std::function<bool()>& is_over,
                        const std::function<void(std::size_t own, std::int64_t count)>& work) {
  for (std::int64_t done = 0; done < iterations && !stopped_ && !is_over(); done += longest_) {
    const std::int64_t count = std::min(longest_, iterations - done);
    run(phase, count, [&](std::size_t own) {
      for (std::int64_t begun = 0; begun < count && !is_cancelled() && !is_late(); begun += slice)
        work(own, std::min(slice, count - begun));
    });
  }
}

/// What took longest in the last round goes first: so threads end together.
void Rounds::work_on_all(const std::function<void(std::size_t own)>& work) {
  std::vector<std::size_t> longest_first(chains_.size());
  std::iota(longest_first.begin(), longest_first.end(), std::size_t{0});
  std::stable_sort(longest_first.begin(), longest_first.end(),
                   [this](std::size_t a, std::size_t b) { return last_seconds_[a] > last_seconds_[b]; });
  parallel::for_each_index(static_cast<int>(chains_.size()), options_.threads, [&](int i) {
    const std::size_t own = longest_first[static_cast<std::size_t>(i)];
    const auto begin = std::chrono::steady_clock::now();
    work(own);
    last_seconds_[own] = base::seconds_since(begin);
  });
}

void Rounds::take(std::vector<RoundReport> reports) {
  const Standing before = standings_[best()];
  for (RoundReport& report : reports) {
    for (std::size_t i = 0; i < report.chains.size(); ++i)
      standings_[static_cast<std::size_t>(report.chains[i])] = std::move(report.bests[i]);
    if (report.out_of_time && !stopped_) stopped_ = StoppedBy::time;
    if (report.interrupted) stopped_ = StoppedBy::interrupt;
  }
  const Standing& now = standings_[best()];
  if (on_better && is_better(now, before)) on_better(now);
}

void Rounds::gather(const std::function<bool(const Standing&)>& good, std::size_t otherwise) {
  const Standing fallback = standings_[otherwise];
  for (std::size_t own = 0; own < chains_.size(); ++own) {
    const Standing& standing = standings_[static_cast<std::size_t>(numbers_[own])];
    restart(chains_[own], good(standing) ? standing.order : fallback.order);
  }
  for (Standing& standing : standings_)
    if (!good(standing)) standing = fallback;
}

void Rounds::show_progress(std::string_view phase) const {
  const Standing& now = standings_[best()];
  const double speed = static_cast<double>(done_) / std::max(seconds(), 1e-9);
  const double seconds_left = done_ > 0 ? static_cast<double>(planned_ - done_) / speed : 0;
  options_.on_progress({phase, base::Ticks(now.makespan), base::Memory(now.peak), done_, planned_,
                        speed * static_cast<double>(options_.chains), seconds_left});
}

}  // namespace dovetail::fuse
