// Parses a document as JSON and as YAML and visits every value. Checks that nlohmann-json accepts all JSON that our
// reader accepts.
#include <nlohmann/json.hpp>

#include "base/document.h"
#include "fuzz.h"

namespace base = dovetail::base;

namespace {

void visit(const base::Node& node) {
  DOVETAIL_ASSERT(node.line() >= 1 && node.column() >= 1);
  if (node.is_list()) {
    for (std::size_t i = 0; i < node.size(); ++i) visit(node.item(i));
  } else if (node.is_map()) {
    for (std::size_t i = 0; i < node.size(); ++i) {
      DOVETAIL_ASSERT(node.find(node.key(i)).has_value());
      visit(node.value(i));
    }
  } else {
    DOVETAIL_ASSERT(node.is_null() + node.is_boolean() + node.is_number() + node.is_string() == 1);
  }
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view content = dovetail::fuzz::as_text(data, size);
  const auto json = base::parse_json(content, "input");
  if (json.ok()) {
    DOVETAIL_ASSERT(nlohmann::json::accept(content));
    visit(json->root());
  }
  const auto yaml = base::parse_yaml(content, "input");
  if (yaml.ok()) visit(yaml->root());
  const auto either = base::parse_yaml_or_json(content, "input");
  DOVETAIL_ASSERT(!either.ok() || json.ok() || yaml.ok());
  return 0;
}
