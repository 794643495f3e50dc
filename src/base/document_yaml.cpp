#include <fmt/core.h>
#include <yaml-cpp/depthguard.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <istream>
#include <streambuf>

#include "base/document_builder.h"
#include "base/file.h"
#include "base/quantity.h"
#include "base/utf8.h"

namespace dovetail::base {

namespace {

/// Nesting limit of yaml-cpp, which guards the depth of its recursion.
constexpr int deepest_nesting = 499;

/// A stream buffer over characters in memory, without a copy.
class ViewBuffer : public std::streambuf {
 public:
  explicit ViewBuffer(std::string_view content) {
    // The stream never writes; its interface just lacks const.
    char* begin = const_cast<char*>(content.data());
    setg(begin, begin, begin + content.size());
  }
};

/// Converts a mark, which counts from 0. The place is unknown if yaml-cpp gives none.
FilePlace place_of(const YAML::Mark& mark) {
  if (mark.line < 0) return {.line = 0, .column = 0};
  return {.line = mark.line + 1, .column = mark.column + 1};
}

/// Handles yaml-cpp's events. A plain scalar is null, true, false, a decimal or otherwise a string (the core schema
/// without octal and hexadecimal numbers).
class YamlReader : public YAML::EventHandler {
 public:
  explicit YamlReader(std::string path) : builder_(std::move(path)) {}

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ > 1) {
      builder_.fail(place_of(mark),
                    "unexpected content after the end of the document; accepted: one YAML document per file");
    }
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    remember(anchor, builder_.add_null(place_of(mark)));
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    // After an error anchors are no longer recorded.
    if (!builder_.failed()) builder_.share(place_of(mark), anchors_[anchor]);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    const FilePlace place = place_of(mark);
    if (tag == "!") {
      remember(anchor, builder_.add_string(place, value));
    } else if (check_tag(place, tag)) {
      remember(anchor, add_plain(place, value));
    }
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    check_tag(place_of(mark), tag);
    remember(anchor, builder_.begin_list(place_of(mark)));
  }
  void OnSequenceEnd() override { builder_.end(); }

  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    check_tag(place_of(mark), tag);
    remember(anchor, builder_.begin_map(place_of(mark)));
  }
  void OnMapEnd() override { builder_.end(); }

  DocumentBuilder& builder() { return builder_; }

 private:
  bool check_tag(FilePlace place, const std::string& tag) {
    if (tag.empty() || tag == "?") return true;
    builder_.fail(place, fmt::format("unsupported tag {}; accepted: values without tags", quote(tag)));
    return false;
  }
  std::uint32_t add_plain(FilePlace place, const std::string& value) {
    if (value == "true" || value == "false") return builder_.add_boolean(place, value);
    if (is_decimal(value)) return builder_.add_number(place, value);
    return builder_.add_string(place, value);
  }
  /// Records the value of an anchor. yaml-cpp numbers anchors from 1; 0 means no anchor.
  void remember(YAML::anchor_t anchor, std::uint32_t value) {
    if (anchor == 0) return;
    if (anchors_.size() <= anchor) anchors_.resize(anchor + 1);
    anchors_[anchor] = value;
  }

  DocumentBuilder builder_;
  std::vector<std::uint32_t> anchors_;
  int documents_ = 0;
};

/// Returns an Error that takes precedence over errors of the reader: events before a syntax error may be misleading.
Error syntax_error(const std::string& path, const YAML::Mark& mark, std::string message) {
  const FilePlace place = place_of(mark);
  return Error{.failure = Failure::bad_input,
               .path = path,
               .line = place.line,
               .column = place.column,
               .message = std::move(message)};
}

/// Passes all documents of the content to the reader and returns their number. Throws the exceptions of yaml-cpp.
int read_documents(std::string_view content, YamlReader& reader) {
  ViewBuffer buffer(content);
  std::istream stream(&buffer);
  YAML::Parser parser(stream);
  int documents = 0;
  while (!reader.builder().failed() && parser.HandleNextDocument(reader)) ++documents;
  return documents;
}

/// Returns an Error at the first line that is too long.
Status check_lines(std::string_view content, const std::string& path) {
  int line = 1;
  for (std::size_t begin = 0; begin < content.size(); ++line) {
    const std::size_t end = std::min(content.find('\n', begin), content.size());
    if (end - begin > max_yaml_line)
      return Error{Failure::bad_input, path, line, 1,
                   fmt::format("the line has {} bytes; accepted: at most {} bytes per line of YAML", end - begin,
                               max_yaml_line)};
    begin = end + 1;
  }
  return {};
}

}  // namespace

Result<Document> parse_yaml(std::string_view content, const std::string& path) {
  DOVETAIL_CHECK(check_input_size(InputKind::yaml, content.size(), path));
  DOVETAIL_CHECK(check_text(content, path, "a YAML or JSON document"));
  DOVETAIL_CHECK(check_lines(content, path));
  YamlReader reader(path);
  try {
    const int documents = read_documents(without_byte_order_mark(content), reader);
    if (documents == 0) reader.builder().fail({1, 1}, "the file contains no value; accepted: a YAML or JSON document");
  } catch (const YAML::DeepRecursion& exception) {
    return syntax_error(
        path, exception.mark,
        fmt::format("lists and maps are nested too deeply; accepted: at most {} levels", deepest_nesting));
  } catch (const YAML::Exception& exception) {
    return syntax_error(path, exception.mark,
                        fmt::format("not valid YAML: {}; accepted: YAML 1.2 or JSON", exception.msg));
  }
  return std::move(reader.builder()).finish();
}

}  // namespace dovetail::base
