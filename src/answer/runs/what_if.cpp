#include "answer/runs/what_if.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include "answer/plans/job_input.h"
#include "answer/plans/plan_output.h"
#include "answer/question/json.h"
#include "answer/runs/chosen_plan.h"
#include "answer/text/figures.h"
#include "answer/text/plan_text.h"
#include "answer/text/software_text.h"
#include "answer/text/text.h"
#include "base/assert.h"
#include "cluster/cluster.h"

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
  for (const TrainingAlternative& alternative : training.alternatives) {
    Json entry{{"way", name_of(alternative.method)}, {"planned", alternative.planned}};
    if (alternative.why_not.empty()) {
      entry["seconds"] = json_ratio(alternative.seconds);
      entry["activation_bytes"] = alternative.activations;
      entry["fits"] = alternative.fits();
      add_fit(alternative.fit, entry);
      if (!alternative.how.empty()) entry["how"] = alternative.how;
    } else {
      entry["why_not"] = alternative.why_not;
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

/// Returns the job with `steps` steps off policy, to describe a plan for it.
plan::Job with_steps(plan::Job job, int steps) {
  job.workload.steps_off_policy = steps;
  return job;
}

Json alternative_json(const plan::Job& job, const WhatIf& what_if) {
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
                            {"most", figures.staleness.max},
                            {"off_policy_tokens", json_ratio(figures.staleness.off_policy_tokens)}};
  entry["fits"] = figures.fits();
  add_fit(figures.fit, entry);
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

constexpr std::string_view none = "-";

std::string worth_text(std::string_view what, const study::Worth& worth) {
  constexpr std::array<std::string_view, 3> answers{"no", "yes", "unknown"};
  return fmt::format("{}: {}, {}.\n", what, answers[static_cast<std::size_t>(worth.verdict)], worth.reason);
}

/// Remarks below a table. Rows with the same remark share a line.
class Remarks {
 public:
  void add(std::string name, const std::string& text) {
    if (text.empty()) return;
    const auto known =
        std::find_if(remarks_.begin(), remarks_.end(), [&](const auto& remark) { return remark.second == text; });
    if (known == remarks_.end())
      remarks_.emplace_back(std::move(name), text);
    else
      known->first += ", " + name;
  }

  std::string text() const {
    std::string all;
    for (const auto& [name, text] : remarks_) all += fmt::format("  {}: {}\n", name, text);
    return all;
  }

 private:
  std::vector<std::pair<std::string, std::string>> remarks_;
};

Sections training_text(const study::TrainingWorth& training) {
  const TrainingAlternative& first = training.alternatives.front();
  std::vector<std::vector<std::string>> rows;
  Remarks remarks;
  for (const TrainingAlternative& alternative : training.alternatives) {
    const std::string name = std::string(name_of(alternative.method)) + (alternative.planned ? " *" : "");
    if (alternative.why_not.empty())
      rows.push_back({name, seconds_text(alternative.seconds),
                      &alternative == &first ? "" : difference_text(alternative.seconds, first.seconds),
                      gibibytes(alternative.activations), std::string(short_name(alternative.fit))});
    else
      rows.push_back({name, std::string(none), "", std::string(none), ""});
    remarks.add(std::string(name_of(alternative.method)),
                alternative.why_not.empty() ? alternative.how : "no result: " + alternative.why_not);
  }
  Sections text = worth_text("Fused training", training.fusion);
  text +=
      Table{{{"training phase (*: as planned)", Align::left}, {"time"}, {"change"}, {"activations"}, {"fits"}}, rows};
  if (training.bound) text += fmt::format("  lower bound for fused training: {}\n", seconds_text(*training.bound));
  return text + remarks.text();
}

/// Iteration of an alternative, or "-" if it has none.
std::string iteration_of(const WhatIf* what_if) {
  return what_if && what_if->figures ? seconds_text(what_if->figures->iteration_seconds) : std::string(none);
}

const WhatIf* find_off_policy(const study::WhatIfs& what_ifs, int steps) {
  const auto found =
      std::find_if(what_ifs.alternatives.begin(), what_ifs.alternatives.end(), [&](const WhatIf& what_if) {
        return what_if.working.kind == Working::Kind::off_policy && what_if.working.steps == steps;
      });
  return found == what_ifs.alternatives.end() ? nullptr : &*found;
}

Sections generation_text(const WhatIfAnswer& answer) {
  const study::GenerationWorth& generation = answer.generation;
  Sections text = worth_text("Generation fused with inference", generation.fusion);
  if (!generation.plain) return text;
  const bool trained = answer.plan.fusion.training.has_value();
  std::vector<std::vector<std::string>> rows{{"in sequence", seconds_text(*generation.plain), "",
                                              iteration_of(study::find_fusion(answer.what_ifs, false, trained))}};
  if (generation.side_by_side < *generation.plain)
    rows.push_back({"inference in parallel", seconds_text(generation.side_by_side),
                    difference_text(generation.side_by_side, *generation.plain), std::string(none)});
  for (const study::FusedAt& fused : generation.fused) {
    rows.push_back({fmt::format("fused at {:g}% unfinished", fused.threshold * 100), seconds_text(fused.seconds),
                    difference_text(fused.seconds, *generation.plain),
                    iteration_of(study::find_threshold(answer.what_ifs, fused.threshold, trained))});
  }
  rows.push_back({"1 step off policy", "overlaps training", "", iteration_of(find_off_policy(answer.what_ifs, 1))});
  return text + Table{{{"generation and inference", Align::left}, {"time"}, {"change"}, {"iteration"}}, rows};
}

/// "8+8", "8+8 (training on the last 8)": devices for training and for rollout.
std::string split_text(int training, int rollout, int first) {
  return fmt::format("{}+{}{}", training, rollout,
                     first > 0 ? fmt::format(" (training on the last {})", training) : "");
}

std::string alternative_name(const WhatIf& what_if) {
  const Working& working = what_if.working;
  if (working.kind == Working::Kind::partial) return fmt::format("partial rollout at {:g}%", working.finished * 100);
  if (working.kind == Working::Kind::off_policy)
    return working.steps == 0 ? "split, on policy" : counted(working.steps, "step") + " off policy";
  std::string name = working.inter && working.intra ? "both fused"
                     : working.inter                ? "generation fused"
                     : working.intra                ? "training fused"
                                                    : "no fusion";
  if (what_if.figures && what_if.figures->plan.fusion.threshold)
    name += fmt::format(", {:g}%", *what_if.figures->plan.fusion.threshold * 100);
  return name + (what_if.planned ? " *" : "");
}

std::string devices_of(const WhatIfAnswer& answer, const study::WhatIfFigures& figures) {
  if (figures.training_devices == 0) return std::to_string(cluster::device_count(answer.scenario.job.cluster));
  return split_text(figures.training_devices, figures.rollout_devices, figures.training_first);
}

Sections alternatives_text(const WhatIfAnswer& answer) {
  std::vector<std::vector<std::string>> rows;
  Remarks remarks;
  for (const WhatIf& what_if : answer.what_ifs.alternatives) {
    const std::string name = alternative_name(what_if);
    if (!what_if.figures) {
      rows.push_back({name, "", std::string(none), std::string(none), std::string(none), "", "", "", ""});
      remarks.add(name, "no result: " + what_if.why_not);
      continue;
    }
    const study::WhatIfFigures& figures = *what_if.figures;
    rows.push_back({name, devices_of(answer, figures), seconds_text(figures.iteration_seconds),
                    fmt::format("{:.2f}", figures.samples_per_second), fmt::format("{:.0f}", figures.tokens_per_second),
                    fmt::format("{:.2f}", figures.staleness.mean), std::to_string(figures.staleness.max),
                    percent(figures.staleness.off_policy_tokens), std::string(short_name(figures.fit))});
    if (!figures.simulated) remarks.add(name, "analytical model: the training is too large or too long for a schedule");
  }
  return "Alternatives (*: as planned):\n" +
         Table{{{"alternative", Align::left},
                {"devices"},
                {"iteration"},
                {"samples/s"},
                {"tokens/s/GPU"},
                {"age"},
                {"max age"},
                {"stale"},
                {"fits"}},
               rows} +
         remarks.text();
}

std::string splits_text(const study::WhatIfs& what_ifs) {
  if (what_ifs.splits.empty()) return "";
  constexpr std::size_t shown = 4;
  std::vector<std::string> splits;
  for (const study::DeviceSplit& split : what_ifs.splits)
    if (splits.size() < shown)
      splits.push_back(fmt::format("{} {}", split_text(split.training, split.rollout, split.training_first),
                                   seconds_text(split.iteration_seconds)));
  return fmt::format("  1 step off policy by split, analytical: {}\n", fmt::join(splits, ", "));
}

constexpr std::string_view legend =
    "  devices: training + rollout, if they are split; age: policy versions between sampling and training, mean over "
    "tokens;\n  stale: tokens sampled by an older policy than the one being trained; partial rollout at P%: generation "
    "ends when P%\n  of the prompts in flight have all their responses. Alternatives are simulated; for partial "
    "rollout, only generation is.\n  Part of a fusion's gain may come from one hand-over of data instead of one per "
    "task; dovetail simulate shows how much.\n";

}  // namespace

base::Result<WhatIfAnswer> answer_to(const WhatIfRequest& request, const Callbacks& callbacks) {
  const parallel::Cancellation stop(callbacks.cancellation, request.search.budget.time_limit);
  DOVETAIL_TRY(LoadedJob loaded, load_job(request.job, request.plan, callbacks, &stop));
  DOVETAIL_CHECK(notify_read(callbacks));
  const predict::Scenario& scenario = loaded.scenario;
  DOVETAIL_CHECK(check_can_simulate(scenario.job, request.job));
  DOVETAIL_TRY(const planner::RankOptions search, rank_options(request.search, scenario.job.placements, callbacks));
  if (!loaded.plan) {
    DOVETAIL_TRY(planner::Ranking ranking,
                 find_plans(scenario, search, request.job,
                            "; see dovetail fit, or give --plan to use a plan that does not fit"));
    loaded.plan = std::move(ranking.plans.front().plan);
  }
  study::WhatIfOptions options;
  options.simulation.seed = request.search.budget.seed;
  options.simulation.draws = request.draws;
  options.simulation.on_progress = [&callbacks](std::string_view work) { notify_work(callbacks, work); };
  options.threads = search.search.threads;
  study::WhatIfs what_ifs = study::what_ifs(scenario, *loaded.plan, options);
  notify_work(callbacks, "scheduling alternatives of the training phase");
  study::TrainingWorth training = study::training_worth(scenario, *loaded.plan, what_ifs.training);
  study::GenerationWorth generation =
      study::generation_worth(scenario, *loaded.plan, what_ifs, options.simulation.seed);
  WhatIfAnswer answer{std::move(loaded.scenario), *std::move(loaded.plan),
                      options.simulation.seed,    request.draws,
                      std::move(what_ifs),        std::move(training),
                      std::move(generation),      unless_interrupted(callbacks, Outcome::done)};
  answer.scenario.cancellation = nullptr;
  return answer;
}

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
  for (const WhatIf& what_if : answer.what_ifs.alternatives)
    object["ways"].push_back(alternative_json(answer.scenario.job, what_if));
  object["splits"] = splits_json(answer.scenario.job, answer.what_ifs.splits);
  return json_text(object);
}

Sections sections(const WhatIfAnswer& answer) {
  const plan::Job& job = answer.scenario.job;
  const predict::Software& software = answer.scenario.software;
  Sections all = job_line(job) + "\n" +
                 fmt::format("placement: {}; efficiencies: {}; memory model: {}; {} of lengths (seed {})\n{}\n\n",
                             answer.plan.placement, software.efficiency.name, software.conventions.name,
                             counted(answer.draws, "draw"), answer.seed, efficiency_text(software));
  all += "Is fusion worth it?\n\n" + training_text(answer.training) + "\n" + generation_text(answer);
  all += "\n" + alternatives_text(answer) + splits_text(answer.what_ifs) + std::string(legend);
  if (!answer.what_ifs.complete) all += "\nStopped: missing alternatives were not simulated\n";
  return all + not_modelled_text(job.not_modelled);
}

}  // namespace dovetail::answer
