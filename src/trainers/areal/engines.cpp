#include "trainers/areal/engines.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>

#include "base/assert.h"
#include "base/document.h"
#include "llm/layout.h"
#include "trainers/import/roles.h"
#include "trainers/import/settings.h"

namespace dovetail::trainers {
namespace {

constexpr std::array<std::string_view, 5> backends{"sglang", "vllm", "fsdp", "megatron", "archon"};
constexpr std::string_view accepted =
    "accepted: BACKEND:DEGREES, such as sglang:d4t2, fsdp:d8, megatron:d2p2t4e4, megatron:(attn:d4t2|ffn:d2e4)";

/// Letter of a parallel degree, and the member that stores it.
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

/// Parser state: one string, and the position `at` of the next character.
struct AllocationText {
  std::string text;  ///< without spaces
  bool old = false;  ///< whether to accept the syntax of strings for all engines
  std::size_t at = 0;

  bool takes(std::string_view token) {
    if (!std::string_view(text).substr(at).starts_with(token)) return false;
    at += token.size();
    return true;
  }
  bool ended() const { return at == text.size(); }
  base::Error fault(std::string_view what) const {
    return base::bad_input(fmt::format("{} (character {}); {}", what, at + 1, accepted));
  }
};

/// Reads degrees such as "d4p1t2". `letters` lists the accepted letters, and at least one degree is required.
base::Status read_degrees(AllocationText& text, std::string_view letters, ArealAllocation& into) {
  bool any = false;
  while (!text.ended()) {
    const char letter = text.text[text.at];
    const auto* const degree = std::find_if(all_degrees.begin(), all_degrees.end(),
                                            [letter](const Degree& each) { return each.letter == letter; });
    if (degree == all_degrees.end() || (letter == 'm' && !text.old)) break;
    if (letters.find(letter == 'm' ? 't' : letter) == std::string_view::npos)
      return text.fault(fmt::format("degree `{}` is not allowed here", letter));
    ++text.at;
    std::int64_t size = 0;
    const std::size_t begin = text.at;
    for (; !text.ended() && text.text[text.at] >= '0' && text.text[text.at] <= '9'; ++text.at)
      size = std::min<std::int64_t>(size * 10 + (text.text[text.at] - '0'), llm::degree_limits.max + 1);
    if (text.at == begin || size < 1) return text.fault(fmt::format("the size of degree `{}` is missing or 0", letter));
    if (size > llm::degree_limits.max)
      return text.fault(fmt::format("degree `{}` exceeds {}", letter, llm::degree_limits.max));
    into.*degree->member = static_cast<int>(size);
    any = true;
  }
  if (!any) return text.fault("a degree is missing");
  return {};
}

/// Reads "attn:d4p2t2|ffn:d2p2e4", which may be in parentheses: the degrees of attention, and of experts on the same
/// GPUs.
base::Status read_folded(AllocationText& text, ArealAllocation& into) {
  const bool parenthesis = text.takes("(");
  if (!text.takes("attn:")) return text.fault("`attn:` is missing");
  DOVETAIL_CHECK(read_degrees(text, "cdtp", into));
  if (!text.takes("|ffn:")) return text.fault("`|ffn:` is missing");
  ArealAllocation experts;
  experts.data = 0;
  experts.pipeline = into.pipeline;
  DOVETAIL_CHECK(read_degrees(text, "detp", experts));
  if (parenthesis && !text.takes(")")) return text.fault("`)` is missing");
  into.expert = experts.expert;
  into.expert_tensor = experts.tensor;
  if (experts.pipeline != into.pipeline)
    return text.fault(
        fmt::format("experts have {} pipeline stages, but attention has {}", experts.pipeline, into.pipeline));
  const std::int64_t copy = std::int64_t{experts.expert} * experts.tensor * experts.pipeline;
  const std::int64_t devices = into.devices();
  if (experts.data == 0 ? devices % copy != 0 : devices / copy != experts.data || devices % copy != 0)
    return text.fault(fmt::format("the expert degrees do not yield the {} GPUs of attention", devices));
  return {};
}

/// Reads an optional name, "[actor]".
base::Status read_name(AllocationText& text, ArealAllocation& into) {
  if (!text.takes("[")) return {};
  const std::size_t end = text.text.find(']', text.at);
  if (end == std::string::npos || end == text.at) return text.fault("a name and `]` must follow `[`");
  into.name = text.text.substr(text.at, end - text.at);
  text.at = end + 1;
  return {};
}

/// Fails if the degrees do not suit the backend or need too many GPUs.
base::Status check_degrees(const AllocationText& text, const ArealAllocation& read) {
  if (read.devices() > max_devices) return text.fault(fmt::format("the engine needs more than {} GPUs", max_devices));
  if (read.backend == "fsdp" && (read.pipeline > 1 || read.expert > 1))
    return text.fault("fsdp supports neither pipelines nor expert parallelism");
  const std::int64_t copy = std::int64_t{read.expert} * read.expert_tensor * read.pipeline;
  if (read.expert > 1 && read.devices() % copy != 0)
    return text.fault(fmt::format("the expert degrees do not divide the {} GPUs", read.devices()));
  return {};
}

base::Result<ArealAllocation> read_allocation(AllocationText& text) {
  ArealAllocation read;
  const auto* const backend =
      std::find_if(backends.begin(), backends.end(), [&](std::string_view each) { return text.takes(each); });
  if (backend != backends.end()) read.backend = *backend;
  DOVETAIL_CHECK(read_name(text, read));
  const bool named = !read.backend.empty() || !read.name.empty();
  if (named && !text.takes(":") && !(text.old && text.takes("."))) return text.fault("`:` is missing");
  if (read.backend.empty() && !text.old)
    return text.fault("the backend is missing, or not sglang, vllm, fsdp, megatron or archon");
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

constexpr std::string_view mode_key = "allocation_mode";

base::Error at_key(const syntax::SettingTree& tree, const std::string& key, const std::string& value,
                   base::Error error) {
  return setting_error(tree, key, fmt::format("is {}: {}", base::quote(value), error.message));
}

/// Returns the allocation string of a role, or nullopt if it is not set.
base::Result<std::optional<std::string>> allocation_string(const syntax::SettingTree& tree, const std::string& role) {
  DOVETAIL_TRY(auto text, optional_text(tree, role + ".backend"));
  if (text && text->empty()) text.reset();
  return text;
}

/// Returns the role in `before` whose GPUs the engine shares according to its `scheduling_strategy`. Empty: separate
/// GPUs.
base::Result<std::string> target_of(const syntax::SettingTree& tree, const ArealEngine& engine,
                                    const std::vector<ArealEngine>& before) {
  const std::string type_key = engine.role + ".scheduling_strategy.type";
  const std::string target_key = engine.role + ".scheduling_strategy.target";
  DOVETAIL_TRY(const auto type, optional_text(tree, type_key));
  if (!type || *type == "separation") return std::string();
  if (*type != "colocation")
    return setting_error(tree, type_key, fmt::format("is {}; accepted: separation, colocation", base::quote(*type)));
  DOVETAIL_TRY(const auto target, optional_text(tree, target_key));
  if (!target)
    return setting_error(tree, type_key,
                         fmt::format("is colocation, which AReaL rejects without a target; set {}", target_key));
  const auto found =
      std::find_if(before.begin(), before.end(), [&](const ArealEngine& each) { return each.role == *target; });
  if (found == before.end()) {
    std::string roles;
    for (const ArealEngine& each : before) roles += fmt::format("{}{}", roles.empty() ? "" : ", ", each.role);
    return setting_error(
        tree, target_key,
        fmt::format("is {}, which AReaL rejects: no engine of that name is created before {}; {}", base::quote(*target),
                    engine.role, roles.empty() ? "set `type: separation`" : "accepted: " + roles));
  }
  // Workers are shared one to one. A generation engine has one per instance, and a training engine one per GPU.
  const auto workers = [](const ArealEngine& each) {
    return each.allocation.generates() ? std::int64_t{each.allocation.data} : each.allocation.devices();
  };
  if (workers(engine) != workers(*found))
    return setting_error(tree, engine.key,
                         fmt::format("has {} workers, but {} has {}, which AReaL rejects; accepted: the same number",
                                     workers(engine), found->role, workers(*found)));
  return found->target.empty() ? found->role : found->target;
}

base::Status check_kind(const syntax::SettingTree& tree, const ArealEngine& engine) {
  const bool generates = engine.role == "rollout";
  if (engine.allocation.generates() == generates) return {};
  return setting_error(tree, engine.key,
                       fmt::format("is {}; accepted: {}", engine.allocation.backend,
                                   generates ? "sglang, vllm" : "fsdp, megatron, archon"));
}

/// Returns the engines that one string describes. Critic and reference share the actor's GPUs.
base::Result<std::vector<ArealEngine>> engines_of_mode(const syntax::SettingTree& tree, const std::string& text,
                                                       const std::vector<std::string>& roles) {
  const std::string key(mode_key);
  auto mode = parse_areal_mode(text);
  if (!mode.ok()) return at_key(tree, key, text, std::move(mode).error());
  std::vector<ArealEngine> engines;
  for (const std::string& role : roles) {
    const bool generates = role == "rollout";
    const bool shares = generates ? mode->colocated : role != "actor";
    engines.push_back({.role = role,
                       .key = key,
                       .allocation = generates ? mode->rollout : mode->actor,
                       .target = shares ? "actor" : ""});
  }
  return engines;
}

base::Result<std::vector<ArealEngine>> engines_of_backends(const syntax::SettingTree& tree,
                                                           const std::vector<std::string>& roles, ImportedRun& run) {
  std::vector<ArealEngine> engines;
  for (const std::string& role : roles) {
    ArealEngine engine{.role = role, .key = role + ".backend", .allocation = {}, .target = {}};
    DOVETAIL_TRY(auto text, allocation_string(tree, role));
    if (!text && (role == "critic" || role == "ref")) {
      run.assumed.push_back({engine.key, "not given; modeled as the actor's", place_of(tree, role)});
      engine.allocation = engines.front().allocation;
    } else if (!text) {
      return setting_error(tree, engine.key,
                           fmt::format("is missing; accepted: values such as {}",
                                       role == "rollout" ? "sglang:d4, vllm:d4t2" : "fsdp:d8, megatron:d2p2t2"));
    } else {
      auto read = parse_areal_backend(*text);
      if (!read.ok()) return at_key(tree, engine.key, *text, std::move(read).error());
      engine.allocation = *std::move(read);
    }
    DOVETAIL_CHECK(check_kind(tree, engine));
    DOVETAIL_TRY(engine.target, target_of(tree, engine, engines));
    engines.push_back(std::move(engine));
  }
  return engines;
}

}  // namespace

std::int64_t ArealAllocation::devices() const {
  // A degree is at most 2^16, so the product of two fits.
  const std::int64_t two = std::min(std::int64_t{data} * tensor, max_devices + 1);
  const std::int64_t three = std::min(two * pipeline, max_devices + 1);
  return std::min(three * context, max_devices + 1);
}

base::Result<ArealAllocation> parse_areal_backend(std::string_view content) {
  AllocationText text = text_to_read(content, false);
  DOVETAIL_TRY(ArealAllocation read, read_allocation(text));
  if (!text.ended()) return text.fault("unexpected text");
  return read;
}

base::Result<ArealMode> parse_areal_mode(std::string_view content) {
  AllocationText text = text_to_read(content, true);
  std::optional<ArealAllocation> rollout;
  std::optional<ArealAllocation> actor;
  bool colocated = false;
  for (bool first = true; first || !text.ended(); first = false) {
    const bool shares = !first && text.takes("|");
    if (!first && !shares && !text.takes("+")) return text.fault("unexpected text");
    DOVETAIL_TRY(ArealAllocation read, read_allocation(text));
    std::optional<ArealAllocation>& side = read.generates() ? rollout : actor;
    if (side) return text.fault("two engines generate, or two engines train");
    side = std::move(read);
    colocated = colocated || shares;
  }
  if (!rollout || !actor) return text.fault(rollout ? "no engine trains" : "no engine generates");
  if (colocated && rollout->devices() != actor->devices())
    return text.fault(
        fmt::format("generation and training share GPUs, but use {} and {}", rollout->devices(), actor->devices()));
  return ArealMode{.rollout = *std::move(rollout), .actor = *std::move(actor), .colocated = colocated};
}

bool areal_has_role(const syntax::SettingTree& tree, const std::string& role) {
  const syntax::Setting* const found = find_setting(tree.root, role);
  return found != nullptr && found->kind == syntax::Setting::Kind::map;
}

base::Result<std::vector<ArealEngine>> areal_engines(const syntax::SettingTree& tree, ImportedRun& run) {
  std::vector<std::string> roles{"actor"};
  if (areal_has_role(tree, "critic")) roles.emplace_back("critic");
  if (run.reference) roles.emplace_back("ref");
  roles.emplace_back("rollout");
  DOVETAIL_TRY(const auto mode, optional_text(tree, mode_key));
  DOVETAIL_TRY(const auto actor, allocation_string(tree, "actor"));
  DOVETAIL_TRY(const auto rollout, allocation_string(tree, "rollout"));
  if (mode && !mode->empty()) {
    if (!actor && !rollout) return engines_of_mode(tree, *mode, roles);
    run.ignored.push_back(
        {std::string(mode_key), "no effect: engines have their own `backend`", place_of(tree, mode_key)});
  }
  return engines_of_backends(tree, roles, run);
}

const ArealEngine& areal_engine_of(const std::vector<ArealEngine>& engines, std::string_view role) {
  const auto found =
      std::find_if(engines.begin(), engines.end(), [&](const ArealEngine& each) { return each.role == role; });
  DOVETAIL_ASSERT(found != engines.end());
  return *found;
}

bool areal_is_colocated(const std::vector<ArealEngine>& engines) {
  return areal_engine_of(engines, "rollout").target == "actor";
}

}  // namespace dovetail::trainers
