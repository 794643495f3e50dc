// How answers say numbers in JSON. Only the files that write an answer's JSON include this: the library behind it takes
// long to compile.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "base/quantity.h"

namespace dovetail::answer {

/// JSON with its keys in the order in which they were set.
using Json = nlohmann::ordered_json;

/// `decimal` as a JSON number: whole ones as integers, others as the nearest double, which prints the same decimal up
/// to 15 digits.
Json json_number(const std::string& decimal);
Json json_time(base::Ticks time, base::TimeUnit unit);
Json json_memory(base::Memory memory);
/// null where there is no value.
Json json_memory(const std::optional<base::Memory>& memory);
/// A derived ratio, rounded to six decimals.
Json json_ratio(double ratio);
/// Simulated time, rounded to nanoseconds, so that parts add up.
Json json_simulated(double seconds);
/// Predicted seconds and wall time, rounded to milliseconds.
Json json_seconds(double seconds);
/// JSON that is text already.
Json json_parsed(const std::string& text);

/// `object` as JSON, indented by `indent` where that is not negative; in its texts what a terminal would obey is
/// escaped.
std::string json_text(const Json& object, int indent = 2);

}  // namespace dovetail::answer
