#include "realloc/real_rule.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace dovetail::realloc::test {
namespace {

constexpr int devices_per_node = 8;
constexpr double gibibyte = 1024.0 * 1024 * 1024;
constexpr double inside_bandwidth = 225 * gibibyte;  // 1800 Gibit/s
constexpr double between_bandwidth = 25 * gibibyte;  // 200 Gibit/s
constexpr double seconds_per_receipt = 0.03;

int node_of(int rank) { return rank / devices_per_node; }

/// Elements of one of ReaL's pipeline layers on one of `ranks` tensor-parallel ranks. Layer 0 is the embedding, the
/// last layer the head.
std::int64_t elements_of(const llm::Transformer& model, int layer, int ranks) {
  const bool is_head = layer == static_cast<int>(model.layers) + 1;
  std::int64_t elements = 0;
  for (const llm::Tensor& tensor : layer == 0 ? llm::embedding_tensors(model)
                                   : is_head  ? llm::head_tensors(model)
                                              : llm::layer_tensors(model, layer - 1))
    elements += tensor.split == llm::Split::none ? tensor.elements() : tensor.elements() / ranks;
  return elements;
}

/// Ends of `stages` runs of `sizes`, each with a sum of at least `least`, that minimize the largest sum. nullopt if
/// impossible.
std::optional<std::pair<std::int64_t, std::vector<int>>> split_above(const std::vector<std::int64_t>& sums, int stages,
                                                                     std::int64_t least) {
  constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();
  const int layers = static_cast<int>(sums.size()) - 1;
  const auto at = [layers](int stage, int end) { return static_cast<std::size_t>(stage * (layers + 1) + end); };
  std::vector<std::int64_t> largest(at(stages, layers) + 1, never);
  std::vector<int> begins(largest.size());
  largest[at(0, 0)] = 0;
  for (int stage = 1; stage <= stages; ++stage)
    for (int end = stage; end <= layers; ++end)
      for (int begin = stage - 1; begin < end; ++begin) {
        const std::int64_t run = sums[static_cast<std::size_t>(end)] - sums[static_cast<std::size_t>(begin)];
        const std::int64_t before = largest[at(stage - 1, begin)];
        if (run < least || before == never || std::max(before, run) >= largest[at(stage, end)]) continue;
        largest[at(stage, end)] = std::max(before, run);
        begins[at(stage, end)] = begin;
      }
  if (largest[at(stages, layers)] == never) return std::nullopt;
  std::vector<int> split(static_cast<std::size_t>(stages) + 1, layers);
  for (int stage = stages; stage > 0; --stage)
    split[static_cast<std::size_t>(stage - 1)] = begins[at(stage, split[static_cast<std::size_t>(stage)])];
  return std::pair(largest[at(stages, layers)], split);
}

/// Chooses a sender on each source node that is needed: [sender] its receivers, including itself if it needs the piece.
std::map<int, std::vector<int>> groups_of(const std::vector<int>& sources, const std::vector<int>& destinations) {
  std::map<int, std::vector<int>> sources_on;
  std::map<int, std::vector<int>> destinations_on;
  for (const int rank : sources) sources_on[node_of(rank)].push_back(rank);
  for (const int rank : destinations) destinations_on[node_of(rank)].push_back(rank);
  std::map<int, int> workload;  // [source node] number of destination nodes that it already serves
  std::map<int, std::vector<int>> served;
  for (const auto& [node, ranks] : sources_on) workload[node] = destinations_on.count(node) != 0 ? 1 : 0;
  const auto least = std::min_element(workload.begin(), workload.end(),
                                      [](const auto& a, const auto& b) { return a.second < b.second; });
  for (const auto& [node, ranks] : destinations_on) {
    std::vector<int>& of_node = served[sources_on.count(node) != 0 ? node : least->first];
    of_node.insert(of_node.end(), ranks.begin(), ranks.end());
  }
  std::map<int, std::vector<int>> groups;
  for (const auto& [node, receivers] : served) {
    const std::vector<int>& candidates = sources_on[node];
    const auto both = std::find_if(candidates.begin(), candidates.end(), [&](int rank) {
      return std::find(destinations.begin(), destinations.end(), rank) != destinations.end();
    });
    groups[both == candidates.end() ? candidates.front() : *both] = receivers;
  }
  return groups;
}

class Rule {
 public:
  Rule(const Side& source, const Side& destination) : source_(source), destination_(destination) {}

  RealPlan apply() {
    for (int from = 0; from < source_.layout.pipeline; ++from)
      for (int to = 0; to < destination_.layout.pipeline; ++to) move_stage(from, to);
    double seconds = 0;
    for (const auto& [rank, of_rank] : seconds_) seconds = std::max(seconds, of_rank);
    for (const auto& [rank, bytes] : received_) plan_.max_received = std::max(plan_.max_received, bytes);
    plan_.microseconds = static_cast<std::int64_t>(seconds * 1e6);
    return plan_;
  }

 private:
  void move_stage(int from, int to) {
    const int source_ranks = source_.layout.tensor;
    const int destination_ranks = destination_.layout.tensor;
    const std::vector<int> ours = real_stage_split(source_.model, source_.layout.pipeline);
    const std::vector<int> theirs = real_stage_split(destination_.model, destination_.layout.pipeline);
    const int begin = std::max(ours[static_cast<std::size_t>(from)], theirs[static_cast<std::size_t>(to)]);
    const int end = std::min(ours[static_cast<std::size_t>(from) + 1], theirs[static_cast<std::size_t>(to) + 1]);
    std::int64_t bytes = 0;
    for (int layer = begin; layer < end; ++layer)
      bytes += 2 * elements_of(source_.model, layer, std::max(source_ranks, destination_ranks));
    if (bytes == 0) return;
    for (int rank = 0; rank < destination_ranks; ++rank) {
      const int first = rank * source_ranks / destination_ranks;
      const int pieces = std::max(1, source_ranks / destination_ranks);
      for (int piece = 0; piece < pieces; ++piece)
        broadcast(bytes, ranks_of(source_, from, first + piece), ranks_of(destination_, to, rank));
    }
  }

  /// The data-parallel replicas of a shard.
  static std::vector<int> ranks_of(const Side& side, int stage, int tensor) {
    std::vector<int> ranks;
    for (int data = 0; data < side.layout.data; ++data)
      ranks.push_back(side.mesh.first +
                      llm::rank_of(side.layout, {.pipeline = stage, .data = data, .context = 0, .tensor = tensor}));
    return ranks;
  }

  void broadcast(std::int64_t bytes, const std::vector<int>& sources, const std::vector<int>& destinations) {
    for (const auto& [sender, receivers] : groups_of(sources, destinations)) {
      ++plan_.broadcasts;
      std::set<int> nodes;
      for (const int rank : receivers) nodes.insert(node_of(rank));
      const bool is_local = nodes.size() == 1 && *nodes.begin() == node_of(sender);
      const double seconds = static_cast<double>(bytes) /
                             (is_local ? inside_bandwidth : between_bandwidth / static_cast<double>(nodes.size()));
      plan_.between += bytes * static_cast<std::int64_t>(nodes.size() - nodes.count(node_of(sender)));
      for (const int rank : receivers) {
        seconds_[rank] += seconds_per_receipt;
        if (rank == sender) continue;
        seconds_[rank] += seconds;
        received_[rank] += bytes;
        plan_.received += bytes;
      }
      if (receivers != std::vector<int>{sender}) seconds_[sender] += seconds;
    }
  }

  const Side& source_;
  const Side& destination_;
  RealPlan plan_;
  std::map<int, double> seconds_;         // [rank]
  std::map<int, std::int64_t> received_;  // [rank]
};

}  // namespace

std::vector<int> real_stage_split(const llm::Transformer& model, int stages) {
  std::vector<std::int64_t> sums{0};
  for (int layer = 0; layer < static_cast<int>(model.layers) + 2; ++layer)
    sums.push_back(sums.back() + elements_of(model, layer, 1));
  // The smallest stage is a run of layers. Tries all runs, the largest first, until no smaller one can be better.
  std::set<std::int64_t> runs;
  for (std::size_t begin = 0; begin < sums.size(); ++begin)
    for (std::size_t end = begin + 1; end < sums.size(); ++end) runs.insert(sums[end] - sums[begin]);
  std::int64_t best = std::numeric_limits<std::int64_t>::max();
  std::vector<int> chosen;
  for (auto least = runs.rbegin(); least != runs.rend(); ++least) {
    if (*least * stages > sums.back() || sums.back() / stages - *least >= best) continue;
    const auto split = split_above(sums, stages, *least);
    if (!split || split->first - *least >= best) continue;
    best = split->first - *least;
    chosen = split->second;
  }
  return chosen;
}

llm::Layout real_layout(const llm::Transformer& model, int data, int tensor, int pipeline) {
  llm::Layout layout;
  layout.data = data;
  layout.tensor = tensor;
  layout.pipeline = pipeline;
  const std::vector<int> split = real_stage_split(model, pipeline);
  for (std::size_t stage = 0; stage + 1 < split.size(); ++stage)
    layout.stage_layers.push_back(split[stage + 1] - split[stage]);
  --layout.stage_layers.front();  // the embedding
  --layout.stage_layers.back();   // the head
  return layout;
}

RealPlan real_rule(const Side& source, const Side& destination) { return Rule(source, destination).apply(); }

}  // namespace dovetail::realloc::test
