#include "base/json_object.h"

#include <fmt/format.h>

namespace dovetail::base {

void JsonObject::add(std::string_view key, std::string_view value) {
  text_ += fmt::format("{}\"{}\": {}", text_.empty() ? "" : ", ", key, value);
}

std::string JsonObject::text() const { return fmt::format("{{{}}}", text_); }

}  // namespace dovetail::base
