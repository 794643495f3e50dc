// Parses Hugging Face model configurations. Checks that results are valid, and that a written configuration reads back
// to the same model.
#include "fuzz.h"
#include "llm/computation.h"
#include "llm/huggingface_config.h"

namespace llm = dovetail::llm;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto document = dovetail::base::parse_json(dovetail::fuzz::as_text(data, size), "config.json");
  if (!document.ok()) return 0;
  const auto model = llm::parse_config(document->root(), "model");
  if (!model.ok()) {
    DOVETAIL_ASSERT(!model.error().message.empty());
    return 0;
  }
  DOVETAIL_ASSERT(!llm::find_fault(*model).has_value());
  const auto computation = llm::parse_computation(document->root(), *model);
  if (!computation.ok()) {
    DOVETAIL_ASSERT(computation.error().line > 0);
    return 0;
  }
  const auto again = dovetail::base::parse_json(llm::config_text(*model, *computation), "again.json");
  DOVETAIL_ASSERT(again.ok());
  DOVETAIL_ASSERT(llm::parse_computation(again->root(), *model).ok());
  return 0;
}
