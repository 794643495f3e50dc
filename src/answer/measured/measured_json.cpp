#include <utility>
#include <vector>

#include "answer/measured/measured.h"
#include "answer/plans/plan_json.h"
#include "answer/question/json.h"
#include "answer/words/text.h"

namespace dovetail::answer {
namespace {

using measure::MeasuredAgainst;
using measure::MeasuredTime;
using measure::TimeSpread;
using trainers::TimeKind;

Json to_json(const TimeSpread& spread) {
  return {{"steps", spread.steps},
          {"median", json_ratio(spread.median)},
          {"mean", json_ratio(spread.mean)},
          {"lower", json_ratio(spread.lower)},
          {"upper", json_ratio(spread.upper)},
          {"least", json_ratio(spread.least)},
          {"most", json_ratio(spread.most)}};
}

Json to_json(const MeasuredTime& time) {
  Json object{{"key", clean_text(time.key)}, {"use", base::enum_name(time.known.use)}};
  if (time.known.use == TimeKind::phase) {
    object["phase"] = base::enum_name(*time.known.phase);
    object["roles"] = time.known.roles;
  }
  object["seconds"] = to_json(time.spread);
  return object;
}

Json to_json(const MeasuredAgainst& phase) {
  Json object{{"phase", phase.phase},
              {"keys", Json::array()},
              {"measured", json_ratio(phase.seconds)},
              {"predicted", json_ratio(phase.predicted)},
              {"with_refit", phase.with_weight_sync},
              {"whole", phase.whole},
              {"spread", to_json(phase.measured)},
              {"reasons", phase.reasons}};
  for (const std::string& key : phase.keys) object["keys"].push_back(clean_text(key));
  return object;
}

Json to_json(const std::vector<measure::OneSided>& sides) {
  Json list = Json::array();
  for (const measure::OneSided& side : sides)
    list.push_back({{"name", clean_text(side.name)}, {"seconds", json_ratio(side.seconds)}});
  return list;
}

}  // namespace

std::string to_json(const MeasuredAnswer& answer) {
  const measure::MeasuredRun& run = answer.run;
  Json object{{"format", "dovetail/measured@1"},
              {"log", base::enum_name(run.format)},
              {"statistic", base::enum_name(run.statistic)},
              {"steps", run.steps},
              {"warm_up", run.warm_up},
              {"interrupted", run.interrupted},
              {"times", Json::array()},
              {"unknown", Json::array()},
              {"other_series", run.other_series},
              {"not_numbers", run.not_numbers},
              {"repeated", run.repeated},
              {"cut", run.cut}};
  for (const MeasuredTime& time : run.times) object["times"].push_back(to_json(time));
  for (const std::string& key : run.unknown) object["unknown"].push_back(clean_text(key));
  if (run.warm_up_ratio) object["warm_up_ratio"] = json_ratio(*run.warm_up_ratio);
  if (run.mean_response) object["mean_response"] = json_ratio(*run.mean_response);
  if (run.max_response) object["longest_response"] = json_ratio(*run.max_response);
  if (run.at_cap) object["at_cap"] = json_ratio(*run.at_cap);
  if (run.mean_prompt) object["mean_prompt"] = json_ratio(*run.mean_prompt);
  if (!answer.predicted) return json_text(object);
  const measure::MeasuredComparison& comparison = answer.predicted->comparison;
  Json compared{{"efficiency", answer.predicted->efficiency}, {"phases", Json::array()}};
  for (const MeasuredAgainst& phase : comparison.phases) compared["phases"].push_back(to_json(phase));
  if (comparison.iteration) compared["iteration"] = to_json(*comparison.iteration);
  compared["only_measured"] = to_json(comparison.only_measured);
  compared["only_predicted"] = to_json(comparison.only_predicted);
  add_not_modelled(answer.predicted->job.not_modelled, compared);
  object["comparison"] = std::move(compared);
  return json_text(object);
}

}  // namespace dovetail::answer
