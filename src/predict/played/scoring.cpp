#include "predict/played/scoring.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "cost/machine.h"
#include "cost/training.h"
#include "predict/played/packs.h"
#include "predict/played/ranks.h"
#include "simulate/step_clock.h"

namespace dovetail::predict {
namespace {

using base::Ticks;
using simulate::BarKind;
using simulate::Span;

/// What a micro-batch takes on each stage.
struct MicroBatches {
  std::int64_t count = 1;
  std::vector<Ticks> stages;
  std::vector<Ticks> launches;
  Ticks hop;
};

MicroBatches micro_batches_of(const Scenario& scenario, std::size_t task, const plan::TaskPlan& planned,
                              const std::optional<DealtPacks>& dealt) {
  const cost::InferenceBatches batches =
      dealt ? cost::InferenceBatches{static_cast<double>(dealt->count), dealt->micro_batch}
            : cost::inference_batches(planned.layout, batch_of(scenario, task), planned.micro_batching);
  const cost::Machine machine = cost::machine_of(scenario.job.cluster, planned.mesh, scenario.software.efficiency);
  const cost::InferencePasses passes = cost::inference_passes(
      facts_of(scenario, task), planned.layout, batches.micro_batch, machine, scenario.software.efficiency);
  MicroBatches micro_batches;
  micro_batches.count = static_cast<std::int64_t>(std::ceil(batches.count));
  const double part = batches.count / static_cast<double>(micro_batches.count);
  for (const cost::PassSeconds& stage : passes.stages) {
    micro_batches.stages.push_back(std::max(Ticks(1), base::ticks_of_seconds(part * stage.sum())));
    micro_batches.launches.push_back(
        std::min(base::ticks_of_seconds(part * stage.launch), micro_batches.stages.back()));
  }
  micro_batches.hop = base::ticks_of_seconds(passes.hop);
  return micro_batches;
}

/// What a stage does with micro-batches that arrive at these times: it ends each at the time that stands there
/// afterwards.
std::vector<Span> stage_spans(const MicroBatches& of, std::size_t stage, std::int32_t task, std::vector<Ticks>& times) {
  std::vector<Span> spans;
  Ticks now;
  for (std::size_t index = 0; index < times.size(); ++index) {
    const Ticks begin = std::max(now, times[index]);
    // A message is on its way for the last part of the waiting.
    const Ticks sent = stage > 0 ? std::max(now, times[index] - of.hop) : now;
    if (sent > now) spans.push_back({now, sent, BarKind::bubble, task, 0, {}});
    if (begin > sent) spans.push_back({sent, begin, BarKind::transfer, task, 0, {}});
    now = begin + of.stages[stage];
    spans.push_back({begin, now, BarKind::infer, task, static_cast<std::int64_t>(index), of.launches[stage]});
    times[index] = now;
  }
  return spans;
}

}  // namespace

simulate::Trace inference_trace(const Scenario& scenario, std::size_t task, const plan::TaskPlan& planned) {
  const std::optional<DealtPacks> dealt = dealt_packs(scenario, task, planned);
  const MicroBatches micro_batches = micro_batches_of(scenario, task, planned, dealt);
  const int each = planned.mesh.count / planned.layout.pipeline;
  simulate::Trace trace;
  std::vector<Ticks> times(static_cast<std::size_t>(micro_batches.count));
  for (std::size_t stage = 0; stage < micro_batches.stages.size(); ++stage) {
    if (stage > 0)
      for (Ticks& time : times) time += micro_batches.hop;
    simulate::Lane lane;
    for (int device = 0; device < each; ++device)
      lane.devices.push_back(planned.mesh.first + static_cast<int>(stage) * each + device);
    lane.spans = stage_spans(micro_batches, stage, static_cast<std::int32_t>(task), times);
    trace.lanes.push_back(std::move(lane));
  }
  trace.end = times.back();
  for (simulate::Lane& lane : trace.lanes)
    if (const Ticks end = lane.spans.back().end; end < trace.end)
      lane.spans.push_back({end, trace.end, BarKind::bubble, static_cast<std::int32_t>(task), 0, {}});
  Ranks ranks = ranks_of(scenario, task, planned);
  if (dealt) ranks.parts = dealt->ranks;
  return with_ranks(std::move(trace), {ranks});
}

}  // namespace dovetail::predict
