#include "cli/software_json.h"

namespace dovetail::cli {

void add_efficiency_reason(const place::Software& software, Json& object) {
  const place::EfficiencyChoice& choice = software.choice;
  object["efficiency_reason"] = Json{{"reason", place::name_of(choice.reason)}, {"gpus", choice.gpus}, {"training", choice.training}};
}

void add_verdict(place::Fit fit, Json& object) { object["verdict"] = place::name_of(fit); }

}  // namespace dovetail::cli
