// dovetail what-if: is fusion worth it here, and what would other ways of working give.
#include "answer/runs/what_if.h"

#include <memory>

#include "cli/asking.h"
#include "cli/options.h"

namespace dovetail::cli {
namespace {

struct WhatIfArguments {
  answer::WhatIfRequest request;
  bool json = false;
};

base::Result<int> run_what_if(const WhatIfArguments& arguments) {
  DOVETAIL_TRY(const answer::WhatIfAnswer answer, ask(arguments.request, "what-if"));
  DOVETAIL_CHECK(deliver(answer, arguments.json));
  return exit_code_of(answer.outcome);
}

}  // namespace

void add_what_if(CLI::App& program, Action& action) {
  auto arguments = std::make_shared<WhatIfArguments>();
  CLI::App* command =
      add_command(program, "what-if", "is fusion worth it here, and what would older policies or partial rollout give",
                  "  dovetail what-if examples/jobs/ppo-7b.yaml --plan examples/jobs/ppo-7b.plan.yaml\n"
                  "  dovetail what-if examples/jobs/grpo-8b.yaml --json");
  add_request(*command, arguments->request);
  add_json_flag(*command, arguments->json);
  set_action(*command, action, [arguments] { return run_what_if(*arguments); });
}

}  // namespace dovetail::cli
