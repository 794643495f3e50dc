// JSON of answers: number formats and output. Included only by files that write JSON, because the JSON library compiles
// slowly.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "base/quantity.h"

namespace dovetail::answer {

/// JSON object that keeps the order of its keys.
using Json = nlohmann::ordered_json;

/// Returns `decimal` as a JSON number: an integer if possible, otherwise the nearest double. Doubles print the same
/// decimal up to 15 digits.
Json json_number(const std::string& decimal);
Json json_time(base::Ticks time, base::TimeUnit unit);
Json json_memory(base::Memory memory);
/// Returns JSON null for nullopt.
Json json_memory(const std::optional<base::Memory>& memory);
/// Derived ratio, rounded to six decimals.
Json json_ratio(double ratio);
/// Simulated time, rounded to nanoseconds so that parts add up.
Json json_simulated(double seconds);
/// Predicted or wall-clock seconds, rounded to milliseconds.
Json json_seconds(double seconds);
/// Parses JSON text. REQUIRES: it is valid.
Json json_parsed(const std::string& text);

/// Prints `object`, indented by `indent` if that is not negative. Escapes characters that a terminal would interpret.
std::string json_text(const Json& object, int indent = 2);

}  // namespace dovetail::answer
