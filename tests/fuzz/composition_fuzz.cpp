// Splits the input into files at lines of `===`, composes a configuration from them, and resolves it.
#include <vector>

#include "fuzz.h"
#include "syntax/configuration.h"

namespace syntax = dovetail::syntax;

namespace {

void visit(const syntax::Setting& setting, std::size_t sources) {
  DOVETAIL_ASSERT(static_cast<std::size_t>(setting.place.source) < sources);
  DOVETAIL_ASSERT(setting.kind != syntax::Setting::Kind::unknown || setting.unknown.has_value());
  for (const syntax::Setting& item : setting.items) visit(item, sources);
  for (const auto& [name, value] : setting.members) visit(value, sources);
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::vector<std::string> files;
  for (std::string_view rest = dovetail::fuzz::as_text(data, size); !rest.empty();) {
    const std::size_t end = std::min(rest.find("\n==="), rest.size());
    files.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 5, rest.size()));
  }
  if (files.empty()) return 0;
  std::size_t next = 0;
  syntax::ConfigurationRequest request;
  request.path = "main.yaml";
  request.sources = {"input"};
  request.words.push_back(
      {.text = syntax::text_of("group=other"), .place = {.source = 0, .line = 1, .column = 1}, .condition = {}});
  // Each requested file is the next one of the input.
  request.read = [&](const std::string&) -> dovetail::base::Result<std::string> {
    if (next >= files.size()) return dovetail::base::bad_input("the file does not exist");
    return files[next++];
  };
  auto tree = syntax::compose_configuration(request);
  if (!tree.ok()) {
    DOVETAIL_ASSERT(!tree.error().message.empty());
    return 0;
  }
  visit(tree->root, tree->sources.size());
  if (syntax::resolve(*tree, {{"HOME", "/home"}}).ok()) visit(tree->root, tree->sources.size());
  return 0;
}
