#include "runtime/run/usage_meter.h"

#include <algorithm>
#include <utility>

#include "control/run/usage.h"

namespace dovetail::runtime {

UsageMeter::UsageMeter(const at::Device& device) : device_(device), processor_seconds_(control::processor_seconds()) {}

void UsageMeter::begin_training() { (void)take_peak_of(device_); }

void UsageMeter::end_training() { live_ = std::max(live_, take_peak_of(device_)); }

control::RankUsage UsageMeter::take() {
  const double now = control::processor_seconds();
  return {now - std::exchange(processor_seconds_, now), std::exchange(live_, 0)};
}

}  // namespace dovetail::runtime
