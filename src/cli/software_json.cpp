#include "cli/software_json.h"

#include "answer/question/json.h"
namespace dovetail::cli {

void add_efficiency_reason(const predict::Software& software, answer::Json& object) {
  const predict::EfficiencyChoice& choice = software.choice;
  object["efficiency_reason"] = answer::Json{{"reason", name_of(choice.reason)}, {"gpus", choice.gpus}, {"training", choice.training}};
}

void add_verdict(predict::Fit fit, answer::Json& object) { object["verdict"] = name_of(fit); }

}  // namespace dovetail::cli
