#include "simulate/migration.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <tuple>

#include "cluster/collective.h"
#include "cost/generation.h"
#include "simulate/traffic.h"

namespace dovetail::simulate {

using base::Ticks;

namespace {

/// A sample that changes its instance.
struct Move {
  std::size_t from = 0;
  std::size_t to = 0;
  Sequence sequence;
  std::int64_t tokens = 0;  // whose keys and values are sent: without a prompt already sent on the same route
  bool between = false;     // crosses nodes
  Transfer transfer = {};
  Ticks arrival = {};
};

/// Returns the `count` instances with the most unfinished samples, ascending.
std::vector<std::size_t> max_unfinished(const std::vector<Instance>& instances, std::size_t count) {
  std::vector<std::size_t> order(instances.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return instances[a].unfinished() > instances[b].unfinished(); });
  order.resize(count);
  std::sort(order.begin(), order.end());
  return order;
}

bool in_one_node(const cluster::Cluster& cluster, const std::vector<int>& a, const std::vector<int>& b) {
  const int first = std::min(a.front(), b.front());
  const int last = std::max(a.back(), b.back());
  return cluster::meeting_level(cluster, base::DeviceId(first), base::DeviceId(last)) == 0;
}

/// Tracks which prompts were sent on each route. Without prefix sharing every prompt is new.
class Prompts {
 public:
  explicit Prompts(const Fleet& fleet) : shared_(fleet.limits.prefix_sharing) {}
  /// Returns whether the sequence's prompt is new on this route, and records it.
  bool is_new(std::size_t from, std::size_t to, const Sequence& sequence) {
    return !shared_ || seen_.insert({from, to, sequence.group}).second;
  }

 private:
  bool shared_;
  std::set<std::tuple<std::size_t, std::size_t, std::int64_t>> seen_;
};

std::vector<Move> moves_to(const Fleet& fleet, const std::vector<std::size_t>& destinations,
                           std::vector<Instance>& instances) {
  Prompts prompts(fleet);
  std::vector<std::size_t> load(instances.size(), 0);
  for (const std::size_t destination : destinations) load[destination] = instances[destination].unfinished();
  std::vector<Move> moves;
  for (std::size_t from = 0; from < instances.size(); ++from) {
    if (std::binary_search(destinations.begin(), destinations.end(), from)) continue;
    for (const Sequence& sequence : instances[from].leave()) {
      const std::size_t to = *std::min_element(destinations.begin(), destinations.end(),
                                               [&](std::size_t a, std::size_t b) { return load[a] < load[b]; });
      ++load[to];
      Move& move = moves.emplace_back(Move{from, to, sequence});
      if (sequence.cached) move.tokens = prompts.is_new(from, to, sequence) ? sequence.tokens() : sequence.done;
    }
  }
  return moves;
}

/// Returns a link of an instance: sending or receiving, within its node or between nodes.
int link_of(std::size_t instance, bool sends, bool between) {
  return static_cast<int>(4 * instance) + (between ? 2 : 0) + (sends ? 0 : 1);
}

/// Sets the arrival of each sample if its keys and values are sent. `starts`: [instance] time at which it starts
/// sending.
void send(const GenerationTask& task, const Fleet& fleet, const std::vector<Ticks>& starts, std::vector<Move>& moves) {
  const cluster::Links links = cost::machine_of(task.cluster, task.mesh, task.efficiency).links;
  for (Move& move : moves) {
    move.between = !in_one_node(task.cluster, fleet.devices[move.from], fleet.devices[move.to]);
    const double bytes = static_cast<double>(move.tokens) * fleet.limits.token_bytes;
    move.transfer.links = {link_of(move.from, true, move.between), link_of(move.to, false, move.between)};
    move.transfer.bytes = std::llround(bytes);
    move.transfer.uncontended = std::max(
        Ticks(1), base::ticks_of_seconds(cluster::send_seconds(move.between ? links.between : links.inside, bytes)));
  }
  Traffic traffic(static_cast<int>(4 * starts.size()));
  // Each instance's next move. The moves of an instance are consecutive.
  std::vector<std::pair<Ticks, std::size_t>> waiting;
  for (std::size_t index = 0; index < moves.size(); ++index)
    if (index == 0 || moves[index].from != moves[index - 1].from)
      waiting.emplace_back(starts[moves[index].from], index);
  std::sort(waiting.begin(), waiting.end());
  std::size_t begun = 0;
  while (begun < waiting.size() || !traffic.empty()) {
    const bool begins = begun < waiting.size() && (traffic.empty() || waiting[begun].first <= traffic.next_arrival());
    const Ticks now = begins ? waiting[begun].first : traffic.next_arrival();
    for (const std::size_t arrived : traffic.advance(now)) {
      moves[arrived].arrival = now;
      const std::size_t next = arrived + 1;
      if (next < moves.size() && moves[next].from == moves[arrived].from) traffic.begin(moves[next].transfer, next);
    }
    for (; begun < waiting.size() && waiting[begun].first == now; ++begun)
      traffic.begin(moves[waiting[begun].second].transfer, waiting[begun].second);
  }
}

/// Returns the seconds until the busiest destination has recomputed its samples.
double seconds_to_compute(const GenerationTask& task, const Fleet& fleet, const std::vector<Move>& moves) {
  const cost::Machine machine = cost::machine_of(task.cluster, task.mesh, task.efficiency);
  Prompts prompts(fleet);
  std::vector<llm::Tokens> tokens(fleet.devices.size());
  for (const Move& move : moves) {
    if (!move.sequence.cached) continue;
    const auto all = static_cast<double>(move.sequence.tokens());
    const auto known = prompts.is_new(move.to, move.to, move.sequence) ? 0 : static_cast<double>(move.sequence.prompt);
    tokens[move.to].count += all - known;
    tokens[move.to].squares += all * all - known * known;
  }
  double most = 0;
  for (const llm::Tokens& own : tokens)
    if (own.count > 0)
      most = std::max(most, cost::prefill_seconds(task.facts, task.layout, own, machine, task.efficiency));
  return most;
}

/// Drops keys and values: samples arrive immediately.
void forget(const std::vector<Ticks>& starts, std::vector<Move>& moves) {
  for (Move& move : moves) {
    move.arrival = starts[move.from];
    move.sequence.again = move.sequence.again || move.sequence.cached;
    move.sequence.cached = false;
    move.transfer.bytes = 0;
  }
}

}  // namespace

std::size_t destination_count(const GenerationTask& task, const Fleet& fleet, const std::vector<Sample>& samples,
                              std::size_t unfinished, std::int64_t max_sequence) {
  double prompts = 0;
  double responses = 0;
  double squares = 0;
  for (const Sample& sample : samples) {
    const auto response = static_cast<double>(sample.response);
    prompts += static_cast<double>(sample.prompt) / static_cast<double>(samples.size());
    responses += response;
    squares += response * response;
  }
  // Averaged over time, a running sequence has generated sum(response^2) / (2 sum(response)) tokens.
  const double context = prompts + (responses > 0 ? squares / (2 * responses) : 0);
  const cost::Machine machine = cost::machine_of(task.cluster, task.mesh, task.efficiency);
  const double flat = std::min(static_cast<double>(fleet.limits.sequences),
                               cost::flat_batch(task.facts, task.layout, context, machine, task.efficiency));
  const double capacity = static_cast<double>(fleet.limits.blocks) * static_cast<double>(fleet.limits.block_tokens);
  const auto left = static_cast<double>(unfinished);
  return static_cast<std::size_t>(
      std::max({1.0, std::ceil(left / flat), std::ceil(left * static_cast<double>(max_sequence) / capacity)}));
}

Migration migrate(const GenerationTask& task, Fleet& fleet, std::vector<Instance>& instances, Ticks at,
                  std::size_t destinations, std::vector<Ticks>& freed) {
  Migration migration;
  migration.at = at;
  for (const Instance& instance : instances) migration.unfinished += instance.unfinished();
  migration.destinations = max_unfinished(instances, destinations);
  std::vector<Ticks> starts;
  for (const Instance& instance : instances) starts.push_back(std::max(at, instance.now()));
  std::vector<Move> moves = moves_to(fleet, migration.destinations, instances);
  migration.moved = moves.size();
  send(task, fleet, starts, moves);
  Ticks left = at;
  Ticks sent = at;
  for (const Move& move : moves) {
    left = std::max(left, starts[move.from]);
    sent = std::max(sent, move.arrival);
  }
  migration.computed_again = sent - left > base::ticks_of_seconds(seconds_to_compute(task, fleet, moves));
  if (migration.computed_again) forget(starts, moves);
  freed = starts;
  for (const std::size_t destination : migration.destinations) freed[destination] = Ticks(0);
  migration.end = at;
  for (const Move& move : moves) {
    freed[move.from] = std::max(freed[move.from], move.arrival);
    migration.end = std::max(migration.end, move.arrival);
    migration.bytes += move.transfer.bytes * static_cast<std::int64_t>(fleet.devices[move.from].size());
  }
  std::stable_sort(moves.begin(), moves.end(), [](const Move& a, const Move& b) { return a.arrival < b.arrival; });
  for (const Move& move : moves) instances[move.to].arrive(move.arrival, move.sequence);
  return migration;
}

}  // namespace dovetail::simulate
