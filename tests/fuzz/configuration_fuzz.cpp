// Reads configurations of models, as Hugging Face writes them; what is read has no fault.
#include "fuzz.h"
#include "llm/huggingface_config.h"

namespace llm = dovetail::llm;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto document = dovetail::base::parse_json(dovetail::fuzz::as_text(data, size), "config.json");
  if (!document.ok()) return 0;
  const auto model = llm::parse_config(document->root(), "model");
  if (model.ok())
    DOVETAIL_ASSERT(!llm::find_fault(*model).has_value());
  else
    DOVETAIL_ASSERT(!model.error().message.empty());
  return 0;
}
