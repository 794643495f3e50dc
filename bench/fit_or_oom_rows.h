// Configurations of RLHF and training runs that are known to fit or to run out of memory, from public sources.
//
// Each row has a job and a plan in the user formats if its source is complete enough; then the model has to decide
// whether it fits. Settings that the source omits and that cannot matter (batches that only fill micro-batches, host
// memory) are chosen here. Two assumptions concern data sets: GSM8K has prompts of about 105 and responses of about 240
// tokens; in all others, every length is at its cap.
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
