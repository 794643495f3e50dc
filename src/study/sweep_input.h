// What a sweep can vary, the values that make sense of it, and what a job and its plan are at one of them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/enum_names.h"
#include "base/result.h"
#include "plan/job.h"
#include "plan/plan.h"
#include "predict/closed_form/software.h"

namespace dovetail::study {

enum class SweepInput {
  threshold,    ///< fraction of the samples that are still generated when they move (plan::Fusion)
  batch,        ///< prompts an iteration; as many optimizer steps as before
  samples,      ///< samples a prompt
  length,       ///< factor of all response lengths
  micro_batch,  ///< factor of the micro-batches of training
  mini_batch,   ///< optimizer steps in an epoch
  staleness,    ///< trainings that the weights which generate are old
  bandwidth,    ///< factor of that of all networks between nodes
  nodes         ///< of the cluster; plans are found anew
};

constexpr auto names_of(SweepInput) {
  return std::array{base::EnumName{"threshold", SweepInput::threshold},
                    base::EnumName{"batch", SweepInput::batch},
                    base::EnumName{"samples", SweepInput::samples},
                    base::EnumName{"length", SweepInput::length},
                    base::EnumName{"micro-batch", SweepInput::micro_batch},
                    base::EnumName{"mini-batches", SweepInput::mini_batch},
                    base::EnumName{"staleness", SweepInput::staleness},
                    base::EnumName{"bandwidth", SweepInput::bandwidth},
                    base::EnumName{"nodes", SweepInput::nodes}};
}
/// What its values count: "prompts an iteration", "times the response lengths of the job".
std::string_view axis_name(SweepInput input);
/// Whether people choose it, so that one value is the best; else it is something that happens to them.
bool is_choice(SweepInput input);
/// "20%", "512", "1.5x".
std::string value_text(SweepInput input, double value);

/// Why a value makes no sense, and what is accepted; nothing where it does.
std::optional<std::string> find_value_fault(SweepInput input, double value);
/// Values as people write them, separated by commas: "5%,20%" (or "0.05,0.2"), "128,256", "0.5x,2" and the like;
/// rising, each once. An Error without place for what is no value, or makes no sense.
base::Result<std::vector<double>> parse_values(SweepInput input, std::string_view text);

/// What the job or the plan has; nothing of a plan without a threshold. REQUIRES: a plan but for nodes.
std::optional<double> own_value(SweepInput input, const plan::Job& job, const plan::Plan* plan);
/// simulate::usual_thresholds(); of a number in the job that one and powers of two around it, of factors from a quarter
/// on. Rising; with the own value, where there is one. REQUIRES: as own_value.
std::vector<double> default_values(SweepInput input, const plan::Job& job, const plan::Plan* plan);

/// A job with its plan, as they are at a value.
struct SweptJob {
  plan::Job job;
  plan::Plan plan;
};
/// Why the job or the plan cannot have the value, and what is accepted, or both with it. `cap` as in SweepOptions.
/// REQUIRES: not SweepInput::nodes; find_value_fault finds none.
base::Result<SweptJob> with_value(SweepInput input, double value, const plan::Job& job, const plan::Plan& plan,
                                  std::optional<std::int64_t> cap);

}  // namespace dovetail::study
