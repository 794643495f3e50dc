// Configurations of RLHF and training runs that are known to fit or to run out of memory, from public sources
// (bench/data/fit_or_oom.csv).
//
// Each row whose source is complete enough has a job and a plan in the user formats, and the model has to decide
// whether it fits. Omitted settings that cannot matter (batches that only fill micro-batches, host memory) are chosen
// here. These assumptions were made:
// - GSM8K has prompts of about 105 and responses of about 240 tokens; in all other data sets, every length is at its
//   cap.
// - Nemotron-Super-49B, whose layers differ in shape, is represented by 56 layers of Llama-3-70B, which have the same
//   number of parameters.
// - NeMo-RL #493 does not state recomputation. The run fails even with it.
// - DeepSpeed-Chat's hybrid engine gathers the whole actor for generation and frees it afterwards.
#pragma once

#include <string>
#include <vector>

namespace dovetail::bench {

enum class Outcome {
  fits,
  out_of_memory,  ///< on a device, at the steady peak
  undecided       ///< reports conflict, or it failed at another point (late, or while loading)
};

struct FitRow {
  std::string source;
  std::string what;  ///< algorithm, models, devices
  Outcome outcome = Outcome::fits;
  std::string happened;  ///< description
  std::string open{};    ///< decisive settings that the source omits; such a row has no job and is not scored
  std::string job{};     ///< dovetail/job@1
  std::string plan{};    ///< dovetail/plan@1
};

/// Returns all rows, first those that can be scored.
std::vector<FitRow> fit_rows();

}  // namespace dovetail::bench
