#include "report/page/html.h"

#include <string_view>

#include "answer/words/text.h"
#include "base/assert.h"
#include "report/page/html_parts.h"
#include "report/page/page_json.h"

namespace dovetail::report {
namespace {

/// Without '<' nothing in a script element can end it or open a comment. It stands in strings only.
std::string without_tags(std::string_view json) {
  std::string safe;
  safe.reserve(json.size());
  for (const char character : json) {
    if (character == '<') {
      safe += "\\u003c";
    } else {
      safe += character;
    }
  }
  return safe;
}

/// The template with what stands for each of its @WORD@s, which it has in this order.
class Filler {
 public:
  explicit Filler(std::string_view rest) : rest_(rest) {}

  void fill(std::string_view word, std::string_view text) {
    const std::size_t place = rest_.find(word);
    DOVETAIL_ASSERT(place != std::string_view::npos);
    html_.append(rest_.substr(0, place)).append(text);
    rest_.remove_prefix(place + word.size());
  }

  std::string finish() && { return std::move(html_.append(rest_)); }

 private:
  std::string_view rest_;
  std::string html_;
};

}  // namespace

std::string render_html(const Page& page) {
  Filler filler(html_template());
  filler.fill("@TITLE@", answer::escape_xml(page.title));
  filler.fill("@STYLE@", html_style());
  filler.fill("@DATA@", without_tags(page_to_json(page)));
  filler.fill("@SCRIPT@", html_script());
  return std::move(filler).finish();
}

}  // namespace dovetail::report
