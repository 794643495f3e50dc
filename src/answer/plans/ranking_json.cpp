#include "answer/plans/plan_json.h"
#include "answer/plans/ranking.h"
#include "answer/plans/ranking_figures.h"
#include "answer/question/json.h"
#include "planner/advice/changes.h"

namespace dovetail::answer {
namespace {

using workflow::TaskKind;

Json search_json(const planner::SearchRun& search) {
  return Json{{"seed", search.seed},
              {"chains", search.chains},
              {"iterations", search.iterations},
              {"stopped_by", pipeline::name_of(search.stopped_by)}};
}

Json phases_json(const plan::Job& job, const predict::Estimate& estimate) {
  const auto seconds = [&](TaskKind kind) { return json_seconds(phase_seconds(job, estimate, kind)); };
  Json object{{"generate", seconds(TaskKind::generate)},
              {"infer", seconds(TaskKind::infer)},
              {"train", seconds(TaskKind::train)}};
  if (has_timed_rule(job)) object["rule"] = seconds(TaskKind::rule);
  return object;
}

Json plan_json(const RankingAnswer& answer, std::size_t index) {
  const plan::Job& job = answer.scenario.job;
  const planner::RankedPlan& plan = answer.ranking.plans[index];
  const predict::Estimate& estimate = plan.estimate;
  const std::size_t task = planner::fullest_task(estimate.memory);
  Json object{{"placement", name_of(plan.placement)},
              {"tie", index > 0 && index <= answer.ranking.ties},
              {"iteration_seconds", json_seconds(estimate.iteration_seconds)},
              {"samples_per_second", json_ratio(estimate.samples_per_second)},
              {"tokens_per_second_and_device", json_ratio(estimate.tokens_per_second)},
              {"gpu_hours", json_ratio(estimate.gpu_hours)}};
  if (plan.simulated) object["simulated_seconds"] = json_seconds(*plan.simulated);
  if (const auto gap = answer.ranking.gap(plan)) object["over_bound"] = json_ratio(*gap);
  if (estimate.price) object["price"] = json_ratio(*estimate.price);
  if (plan.plan.fusion.any()) object["fusion"] = fusion_json(job, estimate);
  object["phases"] = phases_json(job, estimate);
  object["device_memory"] = Json{{"bytes", estimate.memory[task].needed()},
                                 {"usable", estimate.memory[task].usable},
                                 {"task", job.workflow.tasks[task].name},
                                 {"host_bytes", max_host_bytes(estimate)}};
  add_plan(job, plan.plan, object);
  return object;
}

/// Adds placements without a plan, and inputs that would change the choice.
void add_absent_and_flips(const RankingAnswer& answer, Json& object) {
  for (const planner::AbsentPlacement& absent : answer.ranking.absent)
    object["absent"].push_back(Json{{"placement", name_of(absent.placement)}, {"why", absent.why}});
  for (const planner::Flip& flip : answer.flips)
    object["flips"].push_back(
        Json{{"input", flip.input}, {"factor", flip.factor}, {"plan", flip.plan}, {"gain", json_ratio(flip.gain)}});
  if (!answer.all_inputs_tried) object["flips_cut_short"] = true;
}

/// Ways to run the job, if several were tried.
Json ways_json(const RankingAnswer& answer) {
  Json all = Json::array();
  for (std::size_t i = 0; i < answer.ways.size(); ++i) {
    const TriedWay& tried = answer.ways[i];
    Json object{{"name", tried.name}, {"chosen", i == answer.chosen_way}};
    if (tried.seconds) object["iteration_seconds"] = json_seconds(*tried.seconds);
    if (!tried.refusal.empty()) object["why_not"] = tried.refusal;
    all.push_back(std::move(object));
  }
  return all;
}

}  // namespace

std::string to_json(const RankingAnswer& answer) {
  const planner::Ranking& ranking = answer.ranking;
  const predict::Software& software = answer.scenario.software;
  Json object{{"format", "dovetail/ranking@2"},
              {"job", answer.scenario.job.name},
              {"efficiency", software.efficiency.name},
              {"error", json_ratio(software.efficiency.error)},
              {"conventions", software.conventions.name},
              {"bound_seconds", json_seconds(ranking.bound)},
              {"plans", Json::array()},
              {"absent", Json::array()},
              {"flips", Json::array()}};
  add_efficiency_reason(software, object);
  add_not_modelled(answer.scenario.job.not_modelled, object);
  for (std::size_t index = 0; index < ranking.plans.size(); ++index)
    object["plans"].push_back(plan_json(answer, index));
  if (ranking.fused_bound) object["fused_bound_seconds"] = json_seconds(*ranking.fused_bound);
  if (!ranking.plans.empty()) add_profile(answer.scenario, ranking.plans.front().plan, object);
  if (!ranking.not_fused.empty()) object["not_fused"] = ranking.not_fused;
  add_absent_and_flips(answer, object);
  if (const auto& search = ranking.search) {
    object["search"] = search_json(*search);
    object["timing"] = Json{{"seconds", json_seconds(search->seconds)},
                            {"evaluations_per_second", json_ratio(search->evaluations_per_second)}};
  }
  add_stopped_by(ranking, object);
  if (answer.open_lengths) object["open_lengths"] = open_lengths_json(*answer.open_lengths);
  if (!answer.ways.empty()) object["ways"] = ways_json(answer);
  if (ranking.nearest) object["nearest"] = nearest_json(answer.scenario.job, *ranking.nearest);
  return json_text(object);
}

}  // namespace dovetail::answer
