// Parses lines as overrides and applies them to a tree. Checks that overrides have positions, and that a failed one
// leaves the tree unchanged.
#include <vector>

#include "fuzz.h"
#include "syntax/override.h"

namespace syntax = dovetail::syntax;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::vector<std::string> sources{"input"};
  std::string_view rest = dovetail::fuzz::as_text(data, size);
  syntax::SettingTree tree;
  tree.sources = sources;
  for (int line = 1; !rest.empty(); ++line) {
    const std::string_view text = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(text.size() + 1, rest.size()));
    const syntax::Word word{
        .text = syntax::text_of(text), .place = {.source = 0, .line = line, .column = 1}, .condition = {}};
    const auto one = syntax::parse_override(word, sources);
    if (!one.ok()) {
      DOVETAIL_ASSERT(one.error().line == line && !one.error().message.empty());
      continue;
    }
    DOVETAIL_ASSERT(syntax::is_override(word));
    const std::string before = syntax::to_json(tree.root);
    const auto status = syntax::apply_overrides(tree, {*one});
    DOVETAIL_ASSERT(status.ok() || status.error().line == line);
    if (status.ok() && one->kind != syntax::Override::Kind::remove)
      DOVETAIL_ASSERT(syntax::find_setting(tree.root, one->key) != nullptr);
    if (before.size() > 100'000) return 0;
  }
  return 0;
}
