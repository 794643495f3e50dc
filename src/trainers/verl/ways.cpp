#include <algorithm>
#include <string>
#include <string_view>

#include "syntax/tree.h"
#include "trainers/export/word_edit.h"
#include "trainers/verl/defaults.h"
#include "trainers/verl/settings.h"
#include "trainers/verl/writing.h"

namespace dovetail::trainers {
namespace {

constexpr std::string_view packing_key(VerlEngine engine) {
  return engine == VerlEngine::megatron ? "actor_rollout_ref.actor.megatron.use_remove_padding"
                                        : "actor_rollout_ref.model.use_remove_padding";
}

/// Whether a word of the command is of the present engine: the other one's configuration has no such setting.
bool is_of_engine(std::string_view name, VerlEngine present, VerlEngine other) {
  if (name == "--config-name") return present == VerlEngine::megatron;
  if (name.ends_with(".strategy")) return true;
  const std::string key = present_key(name);
  const std::string_view part = present == VerlEngine::megatron ? ".megatron." : ".fsdp";
  if (key.find(part) != std::string::npos) return find_setting(verl_defaults(other), key) == nullptr;
  return find_setting(verl_defaults(present), key) != nullptr && find_setting(verl_defaults(other), key) == nullptr;
}

}  // namespace

std::vector<OtherWay> verl_ways(const WaysRequest& request) {
  // Words of the present engine have to go, and only those of a script can.
  if (!request.allowed.backend || request.launch == nullptr) return {};
  const bool megatron = request.job.software.training != "verl-fsdp";
  const VerlEngine present = megatron ? VerlEngine::megatron : VerlEngine::fsdp;
  const VerlEngine other = megatron ? VerlEngine::fsdp : VerlEngine::megatron;
  Change change{.set = {"model_engine", megatron ? "dp" : "megatron"}, .with = {}, .without = {}, .in_place = true};
  change.with.push_back({std::string(packing_key(other)), flag_text(request.job.workload.packing)});
  for (const syntax::Word& word : request.launch->arguments) {
    const std::string name(override_name(word));
    if (is_of_engine(name, present, other) && std::ranges::find(change.without, name) == change.without.end())
      change.without.push_back(name);
  }
  return {{.name = megatron ? "fsdp" : "megatron", .changes = {std::move(change)}}};
}

}  // namespace dovetail::trainers
