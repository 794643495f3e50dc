#include "simulate/trace.h"

namespace dovetail::simulate {

bool is_idle(Activity activity) { return activity >= Activity::tail; }

std::string_view name_of(Activity activity) {
  static constexpr std::string_view names[activities] = {"prefill",    "decode",   "recompute",   "migration",    "loading",   "score",
                                                         "forward",    "backward", "optimizer",   "reallocation", "hand-over", "long tail",
                                                         "dependency", "transfer", "new weights", "bubble",       "imbalance", "launch"};
  return names[static_cast<int>(activity)];
}

}  // namespace dovetail::simulate
