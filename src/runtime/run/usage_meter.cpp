#include "runtime/run/usage_meter.h"

#include <algorithm>

#include "control/run/metrics.h"

namespace dovetail::runtime {

UsageMeter::Task::Task(UsageMeter& meter) : meter_(meter), begin_(control::processor_seconds()) {}

UsageMeter::Task::~Task() { meter_.counted_.processor_seconds += control::processor_seconds() - begin_; }

UsageMeter::Training::Training(UsageMeter& meter) : meter_(meter), task_(meter) { (void)take_peak_of(meter_.device_); }

UsageMeter::Training::~Training() {
  meter_.counted_.live = std::max(meter_.counted_.live, take_peak_of(meter_.device_));
}

}  // namespace dovetail::runtime
