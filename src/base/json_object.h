// JSON objects on one line, written member by member, for files whose layout is ours.
#pragma once

#include <string>
#include <string_view>

namespace dovetail::base {

/// The members of a JSON object as text. Values are JSON already; keys are plain words.
class JsonObject {
 public:
  void add(std::string_view key, std::string_view value);
  bool empty() const { return text_.empty(); }
  /// `"key": value, "key": value`
  const std::string& members() const { return text_; }
  /// The same in braces.
  std::string text() const;

 private:
  std::string text_;
};

}  // namespace dovetail::base
