// What lanes are called that stand for devices, and which devices a lane is named after.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dovetail::timeline {

/// "0-7,16": ascending device numbers.
std::string device_ranges(const std::vector<int>& devices);

/// "device 3", "devices 0-7,16": a lane of these devices.
std::string device_lane_name(const std::vector<int>& devices);
/// The devices that a lane is named after, ascending. Nothing where it is no such name.
std::optional<std::vector<int>> devices_of(std::string_view name);

/// "host link 3", "host links 0-7,16": a lane of the links of these devices to host memory; whether one is called so.
std::string host_link_lane_name(const std::vector<int>& devices);
bool is_host_link_lane(std::string_view name);

}  // namespace dovetail::timeline
