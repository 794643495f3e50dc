#include "runtime/run/usage_meter.h"

#include <algorithm>
#include <utility>

#include "control/run/usage.h"
#include "runtime/model/memory_count.h"

namespace dovetail::runtime {

UsageMeter::UsageMeter() : processor_seconds_(control::processor_seconds()) {}

void UsageMeter::begin_training() { (void)process_memory().take_peak(); }

void UsageMeter::end_training() { live_ = std::max(live_, process_memory().take_peak()); }

control::RankUsage UsageMeter::take() {
  const double now = control::processor_seconds();
  return {now - std::exchange(processor_seconds_, now), std::exchange(live_, 0)};
}

}  // namespace dovetail::runtime
