#include "answer/runs/replay.h"
#include "execute/replay_figures.h"
#include "pipeline/schedule/evaluate.h"
#include "timeline/schedule_timeline.h"

namespace dovetail::answer {

timeline::Timeline planned_timeline(const ReplayAnswer& answer) {
  timeline::Timeline timeline = timeline::schedule_timeline(
      answer.schedule.problem, pipeline::evaluate(answer.schedule), answer.source.name + ", as scheduled");
  timeline.time_unit = base::TimeUnit::ms;
  return timeline;
}

timeline::Timeline measured_timeline(const ReplayAnswer& answer) {
  return execute::measured_timeline(answer.schedule.problem, answer.ops, answer.source.name + ", replayed");
}

}  // namespace dovetail::answer
