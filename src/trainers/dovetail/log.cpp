#include "trainers/dovetail/log.h"

namespace dovetail::trainers {

const LogKeys& dovetail_log_keys() {
  using enum TimeKind;
  using enum PhaseKind;
  static const LogKeys keys{.prefixes = {"timing/"},
                            .times = {{"seconds", iteration},
                                      {"actor_generate_seconds", phase, generation, {"actor"}},
                                      {"reward_rule_seconds", phase, inference, {"reward"}},
                                      {"reward_infer_seconds", phase, inference, {"reward"}},
                                      {"actor_infer_seconds", phase, inference, {"actor"}},
                                      {"reference_infer_seconds", phase, inference, {"reference"}},
                                      {"critic_infer_seconds", phase, inference, {"critic"}},
                                      {"actor_train_seconds", phase, training, {"actor"}},
                                      {"critic_train_seconds", phase, training, {"critic"}},
                                      {"reward_train_seconds", phase, training, {"reward"}},
                                      {"actor_train+critic_train_seconds", phase, training, {"actor", "critic"}},
                                      {"critic_train+actor_train_seconds", phase, training, {"actor", "critic"}},
                                      {"evaluate_seconds", interruption},
                                      {"tokens_per_second", rate},
                                      {"mfu", rate},
                                      {"memory_gib", rate}},
                            .lengths = {{"response_length", LengthFigure::mean_response},
                                        {"response_length_max", LengthFigure::max_response},
                                        {"truncated", LengthFigure::at_cap}},
                            .exact = true};
  return keys;
}

}  // namespace dovetail::trainers
