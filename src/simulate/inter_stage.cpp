#include "simulate/inter_stage.h"

#include "base/assert.h"
#include "simulate/inter_stage_trace.h"

namespace dovetail::simulate {
namespace {

InterStage answer_of(const InterStageTask& task, const Stages& stages, const PlayedStages& played) {
  InterStage answer;
  answer.trace = trace_of(task, stages.fleet(), played);
  answer.generation_end = played.generation_end;
  answer.end = played.end;
  answer.finished = played.finished;
  answer.scored = played.inference.scored;
  for (const InstanceLog& log : played.logs) add_counts(log, answer.counts);
  answer.migration = played.migration;
  answer.without = stages.plain().end;
  return answer;
}

}  // namespace

InterStage simulate_inter_stage(const InterStageTask& task, const std::vector<Sample>& samples,
                                std::optional<double> threshold) {
  DOVETAIL_ASSERT(!threshold || (*threshold > 0 && *threshold < 1));
  Stages stages(task, samples);
  std::optional<PlayedStages> fused;
  if (threshold) fused = stages.with_threshold(*threshold);
  return answer_of(task, stages, fused ? *fused : stages.plain());
}

}  // namespace dovetail::simulate
