// Configurations of RLHF and training runs that are known to fit, or to fail for lack of memory, from public sources.
//
// Each is a job and a plan in the formats that users write, where its source says enough to write them: then the model
// has to say whether it fits. What the source does not say and what cannot decide (batches that only fill
// micro-batches, memory of hosts) is chosen here. Two things are assumed of data sets: of GSM8K prompts of about 105
// and responses of about 240 tokens; of others that all are at their cap.
#pragma once

#include <string>
#include <vector>

namespace dovetail::bench {

enum class Outcome {
  fits,
  out_of_memory,  ///< on a device, at the steady peak
  undecided       ///< reports conflict, or it failed otherwise (late, or while loading)
};

struct FitRow {
  std::string source;
  std::string what;  ///< algorithm, models, devices
  Outcome outcome = Outcome::fits;
  std::string happened;  ///< in words
  std::string open{};    ///< what the source does not say and what may decide; such a row has no job and is not scored
  std::string job{};     ///< dovetail/job@1
  std::string plan{};    ///< dovetail/plan@1
};

/// All rows: first those that can be scored.
std::vector<FitRow> fit_rows();

}  // namespace dovetail::bench
