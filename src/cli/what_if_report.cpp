#include "cli/what_if_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "answer/question/json.h"
#include "answer/words/amounts.h"
#include "answer/words/figures.h"
#include "answer/words/plan_words.h"
#include "answer/words/software_words.h"
#include "answer/words/text.h"
#include "base/assert.h"
#include "cli/job.h"
#include "cli/software_json.h"
#include "cluster/cluster.h"
#include "report/text/table.h"

namespace dovetail::cli {
namespace {

using report::Align;
using study::TrainingAlternative;
using study::WhatIf;
using study::Working;

constexpr std::string_view none = "-";

std::string verdict(std::string_view what, const study::Worth& worth) {
  return fmt::format("{}: {}, {}.\n", what, worth.worth ? "yes" : "no", worth.reason);
}

std::string yes_or_no(bool yes) { return yes ? "yes" : "no"; }

/// "-12.3%", "+0.4%": how `seconds` differs from `with`.
std::string change(double seconds, double with) { return fmt::format("{:+.1f}%", 100 * (seconds / with - 1)); }

/// What is said below a table of some of its rows, once for all of which it is so.
class Remarks {
 public:
  void add(std::string name, const std::string& text) {
    if (text.empty()) return;
    const auto known = std::find_if(remarks_.begin(), remarks_.end(), [&](const auto& remark) { return remark.second == text; });
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

std::string training_text(const study::TrainingWorth& training) {
  const TrainingAlternative& first = training.ways.front();
  std::vector<std::vector<std::string>> rows;
  Remarks remarks;
  for (const TrainingAlternative& way : training.ways) {
    const std::string name = std::string(name_of(way.way)) + (way.planned ? " *" : "");
    if (way.why_not.empty())
      rows.push_back({name, answer::seconds_text(way.seconds), &way == &first ? "" : change(way.seconds, first.seconds),
                      answer::gibibytes(way.activations), yes_or_no(way.fits)});
    else
      rows.push_back({name, std::string(none), "", std::string(none), ""});
    remarks.add(std::string(name_of(way.way)), way.why_not.empty() ? way.how : "not here: " + way.why_not);
  }
  std::string text = verdict("Fused training", training.fusion);
  text += report::render_table({{"training phase (*: as planned)", Align::left}, {"takes"}, {"change"}, {"activations"}, {"fits"}}, rows);
  if (training.bound)
    text += fmt::format("  fused: no schedule of both trainings takes less than {} (proven)\n", answer::seconds_text(*training.bound));
  return text + remarks.text();
}

/// Seconds of an iteration of that way, where there are any.
std::string iteration_of(const WhatIf* what_if) {
  return what_if && what_if->figures ? answer::seconds_text(what_if->figures->iteration_seconds) : std::string(none);
}

const WhatIf* find_off_policy(const study::WhatIfs& what_ifs, int steps) {
  const auto found = std::find_if(what_ifs.ways.begin(), what_ifs.ways.end(), [&](const WhatIf& what_if) {
    return what_if.working.kind == Working::Kind::off_policy && what_if.working.steps == steps;
  });
  return found == what_ifs.ways.end() ? nullptr : &*found;
}

std::string generation_text(const WhatIfAnswer& answer) {
  const study::GenerationWorth& generation = answer.generation;
  std::string text = verdict("Generation fused with inference", generation.fusion);
  if (!generation.plain) return text;
  const bool trained = answer.plan.fusion.training.has_value();
  std::vector<std::vector<std::string>> rows{{"one after the other", answer::seconds_text(*generation.plain), "",
                                              iteration_of(study::find_fusion(answer.what_ifs, false, trained))}};
  if (generation.side_by_side < *generation.plain)
    rows.push_back({"scoring side by side", answer::seconds_text(generation.side_by_side),
                    change(generation.side_by_side, *generation.plain), std::string(none)});
  for (const study::FusedAt& fused : generation.fused) {
    rows.push_back({fmt::format("fused at {:g}% unfinished", fused.threshold * 100), answer::seconds_text(fused.seconds),
                    change(fused.seconds, *generation.plain),
                    iteration_of(study::find_threshold(answer.what_ifs, fused.threshold, trained))});
  }
  rows.push_back({"one step off policy", "beside training", "", iteration_of(find_off_policy(answer.what_ifs, 1))});
  return text + report::render_table({{"generation and inference", Align::left}, {"take"}, {"change"}, {"iteration"}}, rows);
}

/// "8+8", "8+8 (training on the last)": devices for training and rollout.
std::string split_text(int training, int rollout, int first) {
  return fmt::format("{}+{}{}", training, rollout, first > 0 ? " (training on the last)" : "");
}

std::string way_name(const WhatIf& what_if) {
  const Working& working = what_if.working;
  if (working.kind == Working::Kind::partial) return fmt::format("partial rollout, {:g}% end", working.finished * 100);
  if (working.kind == Working::Kind::off_policy)
    return working.steps == 0 ? "split, on policy" : answer::counted(working.steps, "step") + " off policy";
  std::string name = working.inter && working.intra ? "both fused"
                     : working.inter                ? "generation fused"
                     : working.intra                ? "trainings fused"
                                                    : "no fusion";
  if (what_if.figures && what_if.figures->plan.fusion.threshold)
    name += fmt::format(", {:g}%", *what_if.figures->plan.fusion.threshold * 100);
  return name + (what_if.planned ? " *" : "");
}

std::string devices_of(const WhatIfAnswer& answer, const study::WhatIfFigures& figures) {
  if (figures.training_devices == 0) return std::to_string(cluster::device_count(answer.scenario.job.cluster));
  return split_text(figures.training_devices, figures.rollout_devices, figures.training_first);
}

std::string ways_text(const WhatIfAnswer& answer) {
  std::vector<std::vector<std::string>> rows;
  Remarks remarks;
  for (const WhatIf& what_if : answer.what_ifs.ways) {
    const std::string name = way_name(what_if);
    if (!what_if.figures) {
      rows.push_back({name, "", std::string(none), std::string(none), std::string(none), "", "", "", ""});
      remarks.add(name, "not here: " + what_if.why_not);
      continue;
    }
    const study::WhatIfFigures& figures = *what_if.figures;
    rows.push_back({name, devices_of(answer, figures), answer::seconds_text(figures.iteration_seconds),
                    fmt::format("{:.2f}", figures.samples_per_second), fmt::format("{:.0f}", figures.tokens_per_second),
                    fmt::format("{:.2f}", figures.staleness.mean), std::to_string(figures.staleness.most),
                    answer::percent(figures.staleness.off_policy_tokens), yes_or_no(figures.fits)});
    if (!figures.simulated) remarks.add(name, "by the closed form: training is longer or larger than schedules can be");
  }
  return "What other ways of working would give (*: as planned):\n" +
         report::render_table(
             {{"way", Align::left}, {"devices"}, {"iteration"}, {"samples/s"}, {"tokens/s/GPU"}, {"age"}, {"most"}, {"stale"}, {"fits"}},
             rows) +
         remarks.text();
}

std::string splits_text(const study::WhatIfs& what_ifs) {
  if (what_ifs.splits.empty()) return "";
  constexpr std::size_t shown = 4;
  std::vector<std::string> splits;
  for (const study::DeviceSplit& split : what_ifs.splits)
    if (splits.size() < shown)
      splits.push_back(fmt::format("{} {}", split_text(split.training, split.rollout, split.training_first),
                                   answer::seconds_text(split.iteration_seconds)));
  return fmt::format("  1 step off policy by split, in closed form: {}\n", fmt::join(splits, ", "));
}

constexpr std::string_view legend =
    "  devices: for training + rollout, where they are split; age: policy versions between sampling and training, mean of tokens\n"
    "  and most; stale: tokens of an older policy than the one that trains. All is played event by event; of partial rollout\n"
    "  generation is, with the other steps of the plan's own play. What a fusion gains may be data handed over once in place of\n"
    "  once a task: dovetail simulate shows how much.\n";

answer::Json worth_json(const study::Worth& worth) { return answer::Json{{"worth", worth.worth}, {"reason", worth.reason}}; }

answer::Json training_json(const study::TrainingWorth& training) {
  answer::Json object = worth_json(training.fusion);
  if (training.bound) object["bound_seconds"] = answer::json_ratio(*training.bound);
  object["ways"] = answer::Json::array();
  for (const TrainingAlternative& way : training.ways) {
    answer::Json entry{{"way", name_of(way.way)}, {"planned", way.planned}};
    if (way.why_not.empty()) {
      entry["seconds"] = answer::json_ratio(way.seconds);
      entry["activation_bytes"] = way.activations;
      entry["fits"] = way.fits;
      if (!way.how.empty()) entry["how"] = way.how;
    } else {
      entry["why_not"] = way.why_not;
    }
    object["ways"].push_back(std::move(entry));
  }
  return object;
}

answer::Json generation_json(const study::GenerationWorth& generation) {
  answer::Json object = worth_json(generation.fusion);
  if (generation.plain) {
    object["plain_seconds"] = answer::json_ratio(*generation.plain);
    object["side_by_side_seconds"] = answer::json_ratio(generation.side_by_side);
  }
  object["fused"] = answer::Json::array();
  for (std::size_t index = 0; index < generation.fused.size(); ++index)
    object["fused"].push_back(answer::Json{{"threshold", answer::json_ratio(generation.fused[index].threshold)},
                                           {"seconds", answer::json_ratio(generation.fused[index].seconds)},
                                           {"best", generation.best == index}});
  if (generation.tail) object["tail_share"] = answer::json_ratio(*generation.tail);
  return object;
}

answer::Json working_json(const Working& working) {
  switch (working.kind) {
    case Working::Kind::fusion:
      return answer::Json{{"way", "fusion"},
                          {"fused", working.inter ? (working.intra ? "both" : "inter") : (working.intra ? "intra" : "none")}};
    case Working::Kind::off_policy:
      return answer::Json{{"way", "off policy"}, {"steps_off_policy", working.steps}};
    case Working::Kind::partial:
      return answer::Json{{"way", "partial rollout"}, {"finished", answer::json_ratio(working.finished)}};
  }
  DOVETAIL_ASSERT(false);
}

answer::Json way_json(const WhatIf& what_if) {
  answer::Json entry = working_json(what_if.working);
  entry["planned"] = what_if.planned;
  if (!what_if.figures) {
    entry["why_not"] = what_if.why_not;
    return entry;
  }
  const study::WhatIfFigures& figures = *what_if.figures;
  if (figures.plan.fusion.threshold) entry["threshold"] = answer::json_ratio(*figures.plan.fusion.threshold);
  entry["iteration_seconds"] = answer::json_ratio(figures.iteration_seconds);
  entry["samples_per_second"] = answer::json_ratio(figures.samples_per_second);
  entry["tokens_per_second_and_device"] = answer::json_ratio(figures.tokens_per_second);
  entry["staleness"] = answer::Json{{"mean", answer::json_ratio(figures.staleness.mean)},
                                    {"most", figures.staleness.most},
                                    {"off_policy_tokens", answer::json_ratio(figures.staleness.off_policy_tokens)}};
  entry["fits"] = figures.fits;
  entry["simulated"] = figures.simulated;
  if (figures.training_devices > 0) {
    entry["training_devices"] = figures.training_devices;
    entry["rollout_devices"] = figures.rollout_devices;
    entry["training_first_device"] = figures.training_first;
  }
  return entry;
}

}  // namespace

std::string to_text(const WhatIfAnswer& answer) {
  const plan::Job& job = answer.scenario.job;
  const predict::Software& software = answer.scenario.software;
  std::string text = answer::job_line(job) + "\n";
  text += fmt::format("placement: {}; efficiencies: {}; memory as {}; {} of lengths (seed {})\n{}\n\n", answer.plan.placement,
                      software.efficiency.name, software.conventions.name, answer::counted(answer.draws, "draw"), answer.seed,
                      answer::efficiency_words(software));
  text += "Is fusion worth it here?\n\n" + training_text(answer.training) + "\n" + generation_text(answer);
  text += "\n" + ways_text(answer) + splits_text(answer.what_ifs) + std::string(legend);
  if (!answer.what_ifs.complete) text += "\nStopped: ways that are missing were not played\n";
  return text;
}

answer::Json to_json(const WhatIfAnswer& answer) {
  answer::Json object{{"format", "dovetail/what-if@1"},
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
  object["ways"] = answer::Json::array();
  for (const WhatIf& what_if : answer.what_ifs.ways) object["ways"].push_back(way_json(what_if));
  object["splits"] = answer::Json::array();
  for (const study::DeviceSplit& split : answer.what_ifs.splits)
    object["splits"].push_back(answer::Json{{"training_devices", split.training},
                                            {"rollout_devices", split.rollout},
                                            {"training_first_device", split.training_first},
                                            {"closed_form_seconds", answer::json_ratio(split.iteration_seconds)}});
  return object;
}

}  // namespace dovetail::cli
