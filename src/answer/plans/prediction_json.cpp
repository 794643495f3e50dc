#include <utility>

#include "answer/plans/plan_json.h"
#include "answer/plans/prediction.h"
#include "answer/question/json.h"
#include "answer/words/plan_words.h"

namespace dovetail::answer {
namespace {

using plan::Activity;

Json activity_json(const PredictionAnswer& answer, std::size_t index) {
  const plan::Job& job = answer.scenario.job;
  const predict::Estimate& estimate = answer.estimate;
  const Activity& activity = estimate.graph.activities[index];
  Json object{{"step", activity_words(job, activity.kind, activity.task)},
              {"begin", json_seconds(begin_of_activity(estimate, index))},
              {"seconds", json_seconds(estimate.activities[index].seconds)}};
  if (activity.within) object["within"] = job.workflow.tasks[*activity.within].name;
  object["parts"] = Json::array();
  for (const predict::SecondsPart& part : estimate.activities[index].parts)
    object["parts"].push_back(Json{{"name", base::enum_name(part.of)}, {"seconds", json_seconds(part.seconds)}});
  if (const predict::TaskMemory& memory = estimate.memory[activity.task];
      activity.kind == Activity::Kind::task && memory.usable > 0)
    object["device_memory"] = Json{
        {"bytes", memory.needed()}, {"usable", memory.usable}, {"device", memory.device}, {"host_bytes", memory.host}};
  return object;
}

}  // namespace

std::string to_json(const PredictionAnswer& answer) {
  const plan::Job& job = answer.scenario.job;
  const predict::Software& software = answer.scenario.software;
  const predict::Estimate& estimate = answer.estimate;
  Json object{{"format", "dovetail/estimate@1"},
              {"job", job.name},
              {"placement", answer.plan.placement},
              {"efficiency", software.efficiency.name},
              {"conventions", software.conventions.name},
              {"fits", estimate.fits()},
              {"iteration_seconds", json_seconds(estimate.iteration_seconds)},
              {"samples_per_second", json_ratio(estimate.samples_per_second)},
              {"tokens_per_second_and_device", json_ratio(estimate.tokens_per_second)},
              {"gpu_hours", json_ratio(estimate.gpu_hours)},
              {"steps", Json::array()}};
  add_efficiency_reason(software, object);
  add_not_modelled(job.not_modelled, object);
  add_verdict(estimate.fit(), object);
  if (answer.plan.fusion.any()) object["fusion"] = fusion_json(job, estimate);
  if (estimate.price) object["price"] = json_ratio(*estimate.price);
  add_profile(answer.scenario, answer.plan, object);
  for (std::size_t index = 0; index < estimate.graph.activities.size(); ++index)
    object["steps"].push_back(activity_json(answer, index));
  if (answer.open_lengths) object["open_lengths"] = open_lengths_json(*answer.open_lengths);
  return json_text(object);
}

}  // namespace dovetail::answer
