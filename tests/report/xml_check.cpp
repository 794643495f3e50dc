#include "report/xml_check.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <vector>

namespace dovetail::report {
namespace {

class XmlChecker {
 public:
  explicit XmlChecker(std::string_view document) : text_(document) {}

  std::string run() {
    while (fault_.empty() && at_ < text_.size()) {
      if (text_[at_] != '<') {
        check_characters('<');
      } else if (text_.substr(at_, 2) == "</") {
        close_element();
      } else {
        open_element();
      }
    }
    if (fault_.empty() && (!open_.empty() || roots_ != 1)) fail("an element is not closed, or there is not one root");
    return fault_;
  }

 private:
  void fail(const std::string& what) {
    if (fault_.empty()) fault_ = what + " at: " + std::string(text_.substr(std::min(at_, text_.size()), 60));
  }

  std::string name() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '-'))
      ++at_;
    if (at_ == begin) fail("a name is missing");
    return std::string(text_.substr(begin, at_ - begin));
  }

  void skip_spaces() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }

  /// Checks text up to `end`: no control characters, no '<', and '&' only in a known entity.
  void check_characters(char end) {
    for (; at_ < text_.size() && text_[at_] != end; ++at_) {
      const char character = text_[at_];
      if (character == '<') return fail("'<' in a text");
      if (static_cast<unsigned char>(character) < 0x20 && character != '\n') return fail("a control character");
      if (character == '&' && !known_entity()) return fail("'&' without an entity");
      if (open_.empty() && character != '\n') return fail("text outside of the root");
    }
  }

  bool known_entity() const {
    constexpr std::array<std::string_view, 4> known{"&amp;", "&lt;", "&gt;", "&quot;"};
    return std::any_of(known.begin(), known.end(),
                       [&](std::string_view entity) { return text_.substr(at_, entity.size()) == entity; });
  }

  void open_element() {
    ++at_;
    const std::string element = name();
    if (open_.empty()) ++roots_;
    open_.push_back(element);
    std::set<std::string> attributes;
    for (skip_spaces(); fault_.empty() && at_ < text_.size() && text_[at_] != '>' && text_[at_] != '/'; skip_spaces()) {
      if (!attributes.insert(name()).second) return fail("an attribute twice");
      if (text_.substr(at_, 2) != "=\"") return fail("an attribute without a quoted value");
      at_ += 2;
      check_characters('"');
      ++at_;
    }
    if (text_.substr(at_, 2) == "/>") {
      open_.pop_back();
      at_ += 2;
    } else if (text_.substr(at_, 1) == ">") {
      ++at_;
    } else {
      fail("a tag does not end");
    }
  }

  void close_element() {
    at_ += 2;
    const std::string element = name();
    if (open_.empty() || open_.back() != element) return fail("'" + element + "' is closed but not open");
    open_.pop_back();
    if (text_.substr(at_, 1) != ">") return fail("a closing tag does not end");
    ++at_;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::vector<std::string> open_;
  int roots_ = 0;
  std::string fault_;
};

}  // namespace

std::string find_xml_fault(std::string_view document) { return XmlChecker(document).run(); }

}  // namespace dovetail::report
