#include "trainers/logs/printed_object.h"
#include "trainers/slime/slime.h"

namespace dovetail::trainers {

const LogKeys& slime_log_keys() {
  using enum TimeKind;
  using enum PhaseKind;
  static const LogKeys keys{.prefixes = {"perf/"},
                            .suffix = "_time",
                            .times = {{"step_time", iteration},
                                      {"total_train_time", iteration},
                                      {"rollout_time", phase, generation, {"actor"}},
                                      {"log_probs_time", phase, inference, {"actor"}},
                                      {"ref_log_probs_time", phase, inference, {"reference"}},
                                      {"actor_train_time", phase, training, {"actor"}},
                                      {"wake_up_time", phase, offload},
                                      {"sleep_time", phase, offload},
                                      {"update_weights_time", phase, refit},
                                      {"data_preprocess_time", other},
                                      {"teacher_log_probs_time", other},
                                      {"ref_model_update_time", other},
                                      {"save_model_time", interruption},
                                      {"train_time", part},
                                      {"train_wait_time", part}},
                            .lengths = {{"rollout/response_len/mean", LengthFigure::mean_response},
                                        {"rollout/response_len/max", LengthFigure::max_response},
                                        {"rollout/truncated_ratio", LengthFigure::at_cap}}};
  return keys;
}

LineReader slime_line_reader() {
  return [](const ConsoleLine& line, StepLogBuilder& log) -> base::Status {
    for (const std::string_view prefix : {"perf ", "rollout "}) {
      const StepObject found = find_step_object(line.text, prefix);
      if (found.step_at != std::string_view::npos) DOVETAIL_CHECK(add_step_object(line, found, log));
    }
    return {};
  };
}

}  // namespace dovetail::trainers
