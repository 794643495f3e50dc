#include "trainers/nemo_rl/log.h"

namespace dovetail::trainers {

const LogKeys& nemo_rl_log_keys() {
  using enum TimeKind;
  using enum PhaseKind;
  static const LogKeys keys{.prefixes = {"timing/train/"},
                            .times = {{"total_step_time", iteration},
                                      {"generation", phase, generation, {"actor"}},
                                      {"policy_and_reference_logprobs", phase, inference, {"actor", "reference"}},
                                      {"logprob_inference_prep", phase, inference, {"actor", "reference"}},
                                      {"value_inference", phase, inference, {"critic"}},
                                      {"policy_training", phase, training, {"actor"}},
                                      {"value_training", phase, training, {"critic"}},
                                      {"training_prep", phase, offload},
                                      {"value_training_prep", phase, offload},
                                      {"prepare_for_generation/total", phase, refit},
                                      {"weight_sync", phase, refit},
                                      {"exposed_generation", other},
                                      {"buffer_sampling", other},
                                      {"data_processing", other},
                                      {"reward_calculation", other},
                                      {"advantage_calculation", other},
                                      {"validation", interruption},
                                      {"checkpointing", interruption},
                                      {"prepare_for_generation", part},
                                      {"valid_tokens_per_sec_per_gpu", rate}},
                            .lengths = {{"train/mean_gen_tokens_per_sample", LengthFigure::mean_response},
                                        {"train/max_gen_tokens_per_sample", LengthFigure::max_response},
                                        {"train/truncation_rate", LengthFigure::at_cap}}};
  return keys;
}

}  // namespace dovetail::trainers
