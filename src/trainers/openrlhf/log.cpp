#include "trainers/logs/printed_object.h"
#include "trainers/openrlhf/openrlhf.h"

namespace dovetail::trainers {

const LogKeys& openrlhf_log_keys() {
  using enum TimeKind;
  using enum PhaseKind;
  static const LogKeys keys{.prefixes = {"timing/"},
                            .times = {{"step_total", iteration},
                                      {"generation", phase, generation, {"actor"}},
                                      {"make_experience", phase, inference, {"actor", "critic", "reference", "reward"}},
                                      {"ppo_train", phase, training, {"actor", "critic"}},
                                      {"broadcast", phase, refit}},
                            .lengths = {{"rollout/response_length_mean", LengthFigure::mean_response},
                                        {"rollout/truncated_rate", LengthFigure::at_cap}}};
  return keys;
}

LineReader openrlhf_line_reader() {
  return [](const ConsoleLine& line, StepLogBuilder& log) -> base::Status {
    const StepObject found = find_step_object(line.text, "Global step ");
    return found.step_at == std::string_view::npos ? base::Status() : add_step_object(line, found, log);
  };
}

}  // namespace dovetail::trainers
