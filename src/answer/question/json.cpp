#include "answer/question/json.h"

#include <charconv>
#include <cmath>
#include <cstdint>

#include "base/utf8.h"

namespace dovetail::answer {
namespace {

double rounded(double value, double steps_per_one) { return std::round(value * steps_per_one) / steps_per_one; }

}  // namespace

Json json_number(const std::string& decimal) {
  const char* end = decimal.data() + decimal.size();
  std::int64_t integer = 0;
  if (const auto parsed = std::from_chars(decimal.data(), end, integer); parsed.ec == std::errc() && parsed.ptr == end)
    return integer;
  double value = 0;
  std::from_chars(decimal.data(), end, value);
  return value;
}

Json json_time(base::Ticks time, base::TimeUnit unit) { return json_number(base::format_time(time, unit)); }
Json json_memory(base::Memory memory) { return json_number(base::format_memory(memory)); }
Json json_memory(const std::optional<base::Memory>& memory) { return memory ? json_memory(*memory) : Json(nullptr); }
Json json_ratio(double ratio) { return rounded(ratio, 1e6); }
Json json_simulated(double seconds) { return rounded(seconds, 1e9); }
Json json_seconds(double seconds) { return rounded(seconds, 1e3); }
Json json_parsed(const std::string& text) { return Json::parse(text); }

std::string json_text(const Json& object, int indent) {
  return base::visible(object.dump(indent, ' ', false, Json::error_handler_t::replace), "\n\t");
}

}  // namespace dovetail::answer
