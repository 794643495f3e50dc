// Rows of two charts that stand for devices, divided so that they can be compared. Private to report.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "report/page/page.h"

namespace dovetail::report {

/// The devices that a row is named after, ascending: "device 3", "devices 0-2,5". Nothing where it is no such name.
std::optional<std::vector<int>> devices_of(std::string_view name);

/// `chart` with each row of devices divided into those that are in one row of `other` too, so that each row has the same devices in both
/// or is in one alone; in order of their first devices where all rows are of devices. Divided by each other, both have the same rows.
Chart divide_rows(const Chart& chart, const Chart& other);

}  // namespace dovetail::report
