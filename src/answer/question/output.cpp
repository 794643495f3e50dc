#include "answer/question/output.h"

#include <utility>

#include "answer/question/json.h"

namespace dovetail::answer {

std::string json_with_output(const std::string& object, const std::string& content) {
  Json whole = Json::parse(object);
  Json parsed = Json::parse(content, nullptr, false);
  whole["output"] = parsed.is_discarded() ? Json(content) : std::move(parsed);
  return json_text(whole);
}

}  // namespace dovetail::answer
