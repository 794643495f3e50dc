#include "answer/runs/length_cap.h"

#include <fmt/format.h>

#include "base/csv.h"
#include "base/document.h"

namespace dovetail::answer {

base::Result<std::optional<std::int64_t>> parse_length_cap(const std::string& text, const plan::Job& job) {
  if (text == "keep") return std::optional(job.workload.response_length.longest());
  if (text == "scale") return std::optional<std::int64_t>();
  const std::optional<std::int32_t> tokens = base::parse_index(text);
  if (!tokens || *tokens < 1 || *tokens > workflow::max_length)
    return base::bad_input(fmt::format("--cap: {} is not a cap; accepted: keep, scale, or tokens from 1 to {}",
                                       base::quote(text), workflow::max_length));
  return std::optional<std::int64_t>(*tokens);
}

}  // namespace dovetail::answer
