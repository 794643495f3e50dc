#include "trainers/areal/allocation.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>

#include "base/document.h"
#include "llm/layout.h"
#include "trainers/import/roles.h"

namespace dovetail::trainers {
namespace {

constexpr std::array<std::string_view, 5> backends{"sglang", "vllm", "fsdp", "megatron", "archon"};
constexpr std::string_view accepted =
    "accepted: BACKEND:DEGREES, as sglang:d4t2, fsdp:d8, megatron:d2p2t4e4, megatron:(attn:d4t2|ffn:d2e4)";

/// The degrees of a part: the letters that it knows, and what they are.
struct Degree {
  char letter;
  int ArealAllocation::* member;
};
constexpr std::array<Degree, 6> all_degrees{{{'d', &ArealAllocation::data},
                                             {'t', &ArealAllocation::tensor},
                                             {'m', &ArealAllocation::tensor},
                                             {'p', &ArealAllocation::pipeline},
                                             {'c', &ArealAllocation::context},
                                             {'e', &ArealAllocation::expert}}};

/// A reading of one string, from `at` on.
struct AllocationText {
  std::string text;  ///< without blanks
  bool old = false;  ///< what versions before per-engine strings took is accepted
  std::size_t at = 0;

  bool takes(std::string_view words) {
    if (!std::string_view(text).substr(at).starts_with(words)) return false;
    at += words.size();
    return true;
  }
  bool ended() const { return at == text.size(); }
  base::Error fault(std::string_view what) const {
    return base::bad_input(fmt::format("{} at character {}, and AReaL stops; {}", what, at + 1, accepted));
  }
};

/// "d4p1t2" of the letters in `letters`, at least one of them.
base::Status read_degrees(AllocationText& text, std::string_view letters, ArealAllocation& into) {
  bool any = false;
  while (!text.ended()) {
    const char letter = text.text[text.at];
    const auto* const degree = std::find_if(all_degrees.begin(), all_degrees.end(),
                                            [letter](const Degree& each) { return each.letter == letter; });
    if (degree == all_degrees.end() || (letter == 'm' && !text.old)) break;
    if (letters.find(letter == 'm' ? 't' : letter) == std::string_view::npos)
      return text.fault(fmt::format("`{}` is no degree of this part", letter));
    ++text.at;
    std::int64_t size = 0;
    const std::size_t begin = text.at;
    for (; !text.ended() && text.text[text.at] >= '0' && text.text[text.at] <= '9'; ++text.at)
      size = std::min<std::int64_t>(size * 10 + (text.text[text.at] - '0'), llm::degree_limits.max + 1);
    if (text.at == begin || size < 1) return text.fault(fmt::format("`{}` has no size of at least 1", letter));
    if (size > llm::degree_limits.max)
      return text.fault(fmt::format("`{}` is more than {}", letter, llm::degree_limits.max));
    into.*degree->member = static_cast<int>(size);
    any = true;
  }
  if (!any) return text.fault("there is no degree");
  return {};
}

/// "attn:d4p2t2|ffn:d2p2e4", also in parentheses: attention's degrees, and those of experts on the same GPUs.
base::Status read_folded(AllocationText& text, ArealAllocation& into) {
  const bool parenthesis = text.takes("(");
  if (!text.takes("attn:")) return text.fault("there is no `attn:`");
  DOVETAIL_CHECK(read_degrees(text, "cdtp", into));
  if (!text.takes("|ffn:")) return text.fault("there is no `|ffn:`");
  ArealAllocation experts;
  experts.data = 0;
  experts.pipeline = into.pipeline;
  DOVETAIL_CHECK(read_degrees(text, "detp", experts));
  if (parenthesis && !text.takes(")")) return text.fault("there is no `)`");
  into.expert = experts.expert;
  into.expert_tensor = experts.tensor;
  if (experts.pipeline != into.pipeline)
    return text.fault(
        fmt::format("experts have {} pipeline stages and attention has {}", experts.pipeline, into.pipeline));
  const std::int64_t copy = std::int64_t{experts.expert} * experts.tensor * experts.pipeline;
  const std::int64_t devices = into.devices();
  if (experts.data == 0 ? devices % copy != 0 : devices / copy != experts.data || devices % copy != 0)
    return text.fault(fmt::format("experts do not take the {} GPUs of attention", devices));
  return {};
}

/// "[actor]".
base::Status read_name(AllocationText& text, ArealAllocation& into) {
  if (!text.takes("[")) return {};
  const std::size_t end = text.text.find(']', text.at);
  if (end == std::string::npos || end == text.at) return text.fault("there is no name in brackets");
  into.name = text.text.substr(text.at, end - text.at);
  text.at = end + 1;
  return {};
}

/// What the backend cannot have.
base::Status check_degrees(const AllocationText& text, const ArealAllocation& read) {
  if (read.devices() > max_devices) return text.fault(fmt::format("it takes more than {} GPUs", max_devices));
  if (read.backend == "fsdp" && (read.pipeline > 1 || read.expert > 1))
    return text.fault("fsdp has neither pipelines nor groups of experts");
  const std::int64_t copy = std::int64_t{read.expert} * read.expert_tensor * read.pipeline;
  if (read.expert > 1 && read.devices() % copy != 0)
    return text.fault(fmt::format("its experts do not divide the {} GPUs", read.devices()));
  return {};
}

base::Result<ArealAllocation> read_allocation(AllocationText& text) {
  ArealAllocation read;
  const auto* const backend =
      std::find_if(backends.begin(), backends.end(), [&](std::string_view each) { return text.takes(each); });
  if (backend != backends.end()) read.backend = *backend;
  DOVETAIL_CHECK(read_name(text, read));
  const bool named = !read.backend.empty() || !read.name.empty();
  if (named && !text.takes(":") && !(text.old && text.takes("."))) return text.fault("there is no `:`");
  if (read.backend.empty() && !text.old) return text.fault("there is no backend");
  const std::string_view rest = std::string_view(text.text).substr(text.at);
  if (!read.generates() && (rest.starts_with("(") || rest.starts_with("attn"))) {
    DOVETAIL_CHECK(read_folded(text, read));
    if (read.backend.empty()) read.backend = "megatron";
  } else {
    DOVETAIL_CHECK(read_degrees(text, read.generates() ? "dtp" : "dtpce", read));
    if (read.backend.empty()) read.backend = read.pipeline > 1 || read.expert > 1 ? "megatron" : "fsdp";
  }
  DOVETAIL_CHECK(check_degrees(text, read));
  return read;
}

AllocationText text_to_read(std::string_view text, bool old) {
  AllocationText made;
  made.old = old;
  std::copy_if(text.begin(), text.end(), std::back_inserter(made.text),
               [](char c) { return std::isspace(static_cast<unsigned char>(c)) == 0; });
  return made;
}

}  // namespace

std::int64_t ArealAllocation::devices() const {
  // A degree is at most 2^16, so that two of them fit.
  const std::int64_t two = std::min(std::int64_t{data} * tensor, max_devices + 1);
  const std::int64_t three = std::min(two * pipeline, max_devices + 1);
  return std::min(three * context, max_devices + 1);
}

base::Result<ArealAllocation> parse_areal_backend(std::string_view content) {
  AllocationText text = text_to_read(content, false);
  DOVETAIL_TRY(ArealAllocation read, read_allocation(text));
  if (!text.ended()) return text.fault("something follows");
  return read;
}

base::Result<ArealMode> parse_areal_mode(std::string_view content) {
  AllocationText text = text_to_read(content, true);
  std::optional<ArealAllocation> rollout;
  std::optional<ArealAllocation> actor;
  bool colocated = false;
  for (bool first = true; first || !text.ended(); first = false) {
    const bool shares = !first && text.takes("|");
    if (!first && !shares && !text.takes("+")) return text.fault("something follows");
    DOVETAIL_TRY(ArealAllocation read, read_allocation(text));
    std::optional<ArealAllocation>& side = read.generates() ? rollout : actor;
    if (side) return text.fault("there are several engines of a kind");
    side = std::move(read);
    colocated = colocated || shares;
  }
  if (!rollout || !actor) return text.fault(rollout ? "no engine trains" : "no engine generates");
  if (colocated && rollout->devices() != actor->devices())
    return text.fault(
        fmt::format("{} GPUs that generate are not the {} that train", rollout->devices(), actor->devices()));
  return ArealMode{.rollout = *std::move(rollout), .actor = *std::move(actor), .colocated = colocated};
}

}  // namespace dovetail::trainers
