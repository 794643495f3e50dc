// Evaluates shell scripts and searches for the programs they start. Checks that evaluation ends, and that each word and
// each error has a position.
#include "fuzz.h"
#include "syntax/shell/launch.h"
#include "syntax/shell/shell.h"

namespace syntax = dovetail::syntax;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  syntax::ScriptRequest request;
  request.path = "run.sh";
  request.content = dovetail::fuzz::as_text(data, size);
  request.environment = {{"HOME", "/home"}};
  request.arguments = {"a", "b c"};
  // A script that includes itself must end as well.
  request.read = [&](const std::string&) -> dovetail::base::Result<std::string> { return request.content; };
  auto outcome = syntax::evaluate_script(request);
  if (!outcome.ok()) {
    DOVETAIL_ASSERT(!outcome.error().message.empty() && outcome.error().line > 0);
    return 0;
  }
  for (const syntax::ReachedCommand& command : outcome->commands) {
    DOVETAIL_ASSERT(!command.words.empty());
    for (const syntax::Word& word : command.words) {
      DOVETAIL_ASSERT(word.place.line > 0 && word.place.column > 0);
      DOVETAIL_ASSERT(static_cast<std::size_t>(word.place.source) < outcome->sources.size());
    }
  }
  const auto is_trainer = [](const syntax::EntryPoint& entry) { return entry.name.find("train") != std::string::npos; };
  const auto launches = syntax::find_launches(*outcome, request, is_trainer);
  if (!launches.ok()) return 0;
  for (const syntax::Launch& launch : *launches)
    DOVETAIL_ASSERT(static_cast<std::size_t>(launch.place.source) < outcome->sources.size());
  const auto one = syntax::only_launch(*outcome, *launches);
  DOVETAIL_ASSERT(one.ok() || one.error().line > 0);
  return 0;
}
