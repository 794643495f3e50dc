#include <utility>
#include <vector>

#include "answer/plans/plan_json.h"
#include "answer/question/json.h"
#include "answer/runs/what_if.h"
#include "base/assert.h"

namespace dovetail::answer {
namespace {

using study::TrainingAlternative;
using study::WhatIf;
using study::Working;

Json worth_json(const study::Worth& worth) {
  const bool known = worth.verdict != study::Verdict::not_known;
  return Json{{"worth", known ? Json(worth.verdict == study::Verdict::yes) : Json()}, {"reason", worth.reason}};
}

Json training_json(const study::TrainingWorth& training) {
  Json object = worth_json(training.fusion);
  if (training.bound) object["bound_seconds"] = json_ratio(*training.bound);
  object["ways"] = Json::array();
  for (const TrainingAlternative& way : training.ways) {
    Json entry{{"way", name_of(way.way)}, {"planned", way.planned}};
    if (way.why_not.empty()) {
      entry["seconds"] = json_ratio(way.seconds);
      entry["activation_bytes"] = way.activations;
      entry["fits"] = way.fits();
      add_verdict(way.fit, entry);
      if (!way.how.empty()) entry["how"] = way.how;
    } else {
      entry["why_not"] = way.why_not;
    }
    object["ways"].push_back(std::move(entry));
  }
  return object;
}

Json generation_json(const study::GenerationWorth& generation) {
  Json object = worth_json(generation.fusion);
  if (generation.plain) {
    object["plain_seconds"] = json_ratio(*generation.plain);
    object["side_by_side_seconds"] = json_ratio(generation.side_by_side);
  }
  object["fused"] = Json::array();
  for (std::size_t index = 0; index < generation.fused.size(); ++index)
    object["fused"].push_back(Json{{"threshold", json_ratio(generation.fused[index].threshold)},
                                   {"seconds", json_ratio(generation.fused[index].seconds)},
                                   {"best", generation.best == index}});
  if (generation.tail) object["tail_share"] = json_ratio(*generation.tail);
  return object;
}

Json working_json(const Working& working) {
  switch (working.kind) {
    case Working::Kind::fusion:
      return Json{{"way", "fusion"},
                  {"fused", working.inter ? (working.intra ? "both" : "inter") : (working.intra ? "intra" : "none")}};
    case Working::Kind::off_policy:
      return Json{{"way", "off policy"}, {"steps_off_policy", working.steps}};
    case Working::Kind::partial:
      return Json{{"way", "partial rollout"}, {"finished", json_ratio(working.finished)}};
  }
  DOVETAIL_ASSERT(false);
}

/// The job with `steps` steps off policy, for plans of that job.
plan::Job with_steps(plan::Job job, int steps) {
  job.workload.steps_off_policy = steps;
  return job;
}

Json way_json(const plan::Job& job, const WhatIf& what_if) {
  Json entry = working_json(what_if.working);
  entry["planned"] = what_if.planned;
  if (!what_if.figures) {
    entry["why_not"] = what_if.why_not;
    return entry;
  }
  const study::WhatIfFigures& figures = *what_if.figures;
  if (figures.plan.fusion.threshold) entry["threshold"] = json_ratio(*figures.plan.fusion.threshold);
  entry["iteration_seconds"] = json_ratio(figures.iteration_seconds);
  entry["samples_per_second"] = json_ratio(figures.samples_per_second);
  entry["tokens_per_second_and_device"] = json_ratio(figures.tokens_per_second);
  entry["staleness"] = Json{{"mean", json_ratio(figures.staleness.mean)},
                            {"most", figures.staleness.most},
                            {"off_policy_tokens", json_ratio(figures.staleness.off_policy_tokens)}};
  entry["fits"] = figures.fits();
  add_verdict(figures.fit, entry);
  entry["simulated"] = figures.simulated;
  if (figures.training_devices > 0) {
    entry["training_devices"] = figures.training_devices;
    entry["rollout_devices"] = figures.rollout_devices;
    entry["training_first_device"] = figures.training_first;
  }
  const bool other_age = what_if.working.kind == Working::Kind::off_policy;
  add_plan(other_age ? with_steps(job, what_if.working.steps) : job, figures.plan, entry);
  return entry;
}

Json splits_json(const plan::Job& job, const std::vector<study::DeviceSplit>& splits) {
  const plan::Job off_policy = with_steps(job, 1);
  Json array = Json::array();
  for (const study::DeviceSplit& split : splits) {
    Json entry{{"training_devices", split.training},
               {"rollout_devices", split.rollout},
               {"training_first_device", split.training_first},
               {"closed_form_seconds", json_ratio(split.iteration_seconds)}};
    add_plan(off_policy, split.plan, entry);
    array.push_back(std::move(entry));
  }
  return array;
}

}  // namespace

std::string to_json(const WhatIfAnswer& answer) {
  Json object{{"format", "dovetail/what-if@1"},
              {"job", answer.scenario.job.name},
              {"placement", answer.plan.placement},
              {"efficiency", answer.scenario.software.efficiency.name},
              {"conventions", answer.scenario.software.conventions.name},
              {"seed", answer.seed},
              {"draws", answer.draws},
              {"complete", answer.what_ifs.complete},
              {"training", training_json(answer.training)},
              {"generation", generation_json(answer.generation)}};
  add_efficiency_reason(answer.scenario.software, object);
  add_not_modelled(answer.scenario.job.not_modelled, object);
  add_plan(answer.scenario.job, answer.plan, object);
  object["ways"] = Json::array();
  for (const WhatIf& what_if : answer.what_ifs.ways) object["ways"].push_back(way_json(answer.scenario.job, what_if));
  object["splits"] = splits_json(answer.scenario.job, answer.what_ifs.splits);
  return json_text(object);
}

}  // namespace dovetail::answer
