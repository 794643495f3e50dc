// How long work takes on this machine.
#pragma once

#include <functional>
#include <vector>

namespace dovetail::runtime {

/// REQUIRES: there is one.
double median(std::vector<double> values);

/// Seconds of `work`, the median of several times: at least three, and more until a tenth of a second has passed, after
/// one that does not count.
double median_seconds(const std::function<void()>& work);

}  // namespace dovetail::runtime
