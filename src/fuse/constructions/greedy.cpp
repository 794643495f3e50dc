// The greedy of RLHFuse and FlexFusion.
#include <algorithm>
#include <deque>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "fuse/constructions/constructions.h"
#include "fuse/constructions/serial.h"

namespace dovetail::fuse {
namespace {

using pipeline::Arc;
using pipeline::DeviceId;
using pipeline::Lowering;
using pipeline::OpGraph;
using pipeline::OpId;
using pipeline::OpLabel;
using pipeline::OpPhase;
using pipeline::Ticks;

/// Ops of one kind of one pipeline stage whose predecessors are all scheduled, in order of micro-batch; the first is a
/// candidate.
using Queue = std::deque<OpId>;

/// Orders candidates: earliest start, S and B before F, device, pipeline in file order, stage.
using Key = std::tuple<Ticks, int, std::int32_t, std::size_t>;

class Greedy {
 public:
  explicit Greedy(const Lowering& lowering) : lowering_(lowering), graph_(lowering.graph) {
    const auto devices = static_cast<std::size_t>(graph_.devices);
    order_.devices.resize(devices);
    idle_.resize(devices);
    queues_of_device_.resize(devices);
    best_.resize(devices);
    waits_.resize(graph_.size());
    ready_.resize(graph_.size());
    queues_.resize(phases * lowering.microbatch_begin.size());
    for (std::size_t op = 0; op < graph_.size(); ++op) {
      waits_[op] = static_cast<std::int32_t>(graph_.predecessors(OpId(op)).size());
      auto& queues = queues_of_device_[graph_.device[op].index()];
      const std::size_t queue = queue_of(OpId(op));
      if (queues.empty() || queues.back() != queue) queues.push_back(queue);
    }
    for (auto& queues : queues_of_device_) {
      std::sort(queues.begin(), queues.end());
      queues.erase(std::unique(queues.begin(), queues.end()), queues.end());
    }
    for (std::size_t op = 0; op < graph_.size(); ++op)
      if (waits_[op] == 0) queues_[queue_of(OpId(op))].push_back(OpId(op));
    for (std::size_t device = 0; device < devices; ++device) choose_again(DeviceId(device));
  }

  pipeline::Order run() && {
    while (!candidates_.empty()) {
      const auto device = DeviceId(std::get<2>(*candidates_.begin()));
      const std::size_t queue = std::get<3>(*candidates_.begin());
      const OpId op = queues_[queue].front();
      queues_[queue].pop_front();
      schedule(op);
      choose_again(device);
    }
    return std::move(order_);
  }

 private:
  static constexpr std::size_t phases = 3;

  /// The order in which ties are broken: S, B, F.
  static std::size_t rank_of(OpPhase phase) { return phase == OpPhase::step ? 0 : phase == OpPhase::backward ? 1 : 2; }

  std::size_t queue_of(OpId op) const {
    const OpLabel& label = graph_.labels[op.index()];
    return static_cast<std::size_t>(lowering_.pipeline_stage(lowering_.pipeline_of(label), label.stage)) * phases +
           rank_of(pipeline::traits_of(label.kind).phase);
  }

  Ticks start_of(OpId op) const { return std::max(ready_[op.index()], idle_[graph_.device[op.index()].index()]); }

  void schedule(OpId op) {
    const Ticks end = start_of(op) + graph_.duration[op.index()];
    const DeviceId device = graph_.device[op.index()];
    order_.devices[device.index()].push_back(op);
    idle_[device.index()] = end;
    for (const Arc& arc : graph_.successors(op)) {
      Ticks& ready = ready_[arc.op.index()];
      ready = std::max(ready, end + arc.lag);
      if (--waits_[arc.op.index()] > 0) continue;
      queues_[queue_of(arc.op)].push_back(arc.op);
      if (graph_.device[arc.op.index()] != device) choose_again(graph_.device[arc.op.index()]);
    }
  }

  void choose_again(DeviceId device) {
    std::optional<Key>& best = best_[device.index()];
    if (best) candidates_.erase(*best);
    best.reset();
    Ticks first_model_start = Ticks::max();
    for_each_candidate(device, [&](OpId op, std::size_t) {
      if (graph_.labels[op.index()].model.value == 0) first_model_start = std::min(first_model_start, start_of(op));
    });
    for_each_candidate(device, [&](OpId op, std::size_t queue) {
      const bool first_model = graph_.labels[op.index()].model.value == 0;
      if (!first_model && start_of(op) + graph_.duration[op.index()] > first_model_start) return;
      const Key key{start_of(op), static_cast<int>(queue % phases), device.value, queue};
      if (!best || key < *best) best = key;
    });
    if (best) candidates_.insert(*best);
  }

  template <class Visit>
  void for_each_candidate(DeviceId device, Visit visit) const {
    for (const std::size_t queue : queues_of_device_[device.index()])
      if (!queues_[queue].empty()) visit(queues_[queue].front(), queue);
  }

  const Lowering& lowering_;
  const OpGraph& graph_;
  pipeline::Order order_;
  std::vector<Ticks> idle_;                                 // [device] end of its last op
  std::vector<Ticks> ready_;                                // [op]
  std::vector<std::int32_t> waits_;                         // [op] predecessors not yet scheduled
  std::vector<Queue> queues_;                               // [pipeline stage x kind]
  std::vector<std::vector<std::size_t>> queues_of_device_;  // [device]
  std::vector<std::optional<Key>> best_;                    // [device] its entry in candidates_
  std::set<Key> candidates_;
};

}  // namespace

Answer solve_greedy(const pipeline::Problem& problem, const SolveOptions&) {
  Lowering lowering = pipeline::lower(problem, pipeline::BackwardForm::whole);
  pipeline::Order order = Greedy(lowering).run();
  return construction_answer("greedy", problem, std::move(lowering), std::move(order));
}

}  // namespace dovetail::fuse
