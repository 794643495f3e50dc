// dovetail calibrate: fits efficiencies to measured runs, and says what error is left.
#include <memory>

#include "answer/measured/calibration.h"
#include "cli/asking.h"
#include "cli/options.h"

namespace dovetail::cli {
namespace {

struct CalibrateArguments {
  answer::CalibrationRequest request;
  std::optional<std::string> output;
  bool json = false;
};

base::Result<int> run_calibrate(const CalibrateArguments& arguments) {
  DOVETAIL_TRY(const answer::CalibrationAnswer answer, ask(arguments.request, "calibrate", {arguments.output}));
  DOVETAIL_CHECK(
      deliver(answer, arguments.json, {arguments.output, [&answer] { return answer::efficiency_file(answer); }}));
  if (answer.outcome == answer::Outcome::interrupted)
    print_warning("stopped: these are the best values so far, and no row was left out");
  return exit_code_of(answer.outcome);
}

}  // namespace

void add_calibrate(CLI::App& program, Action& action) {
  auto arguments = std::make_shared<CalibrateArguments>();
  CLI::App* command = add_command(program, "calibrate", "fit efficiencies to measured runs, and say what error is left",
                                  "  dovetail calibrate examples/measurements/nemo-rl-dense.yaml -o h100.json");
  add_request(*command, arguments->request);
  add_text_option(*command, "-o,--output", arguments->output, "FILE",
                  "write the efficiencies; a job names the file in `software: {efficiency: FILE}`");
  add_json_flag(*command, arguments->json);
  set_action(*command, action, [arguments] { return run_calibrate(*arguments); });
}

}  // namespace dovetail::cli
