// The words of plan files and of what jobs fix, for the readers and the writers.
#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "llm/layout.h"
#include "plan/pin.h"
#include "plan/task_plan.h"

namespace dovetail::plan {

/// A parallel degree of a layout. ZeRO's stage, which may be 0, is none.
struct DegreeWord {
  std::string_view name;
  int llm::Layout::* member = nullptr;
  std::optional<int> TaskPin::* fixed = nullptr;
};

inline constexpr std::array<DegreeWord, 7> degree_words{{{"dp", &llm::Layout::data, &TaskPin::data},
                                                         {"tp", &llm::Layout::tensor, &TaskPin::tensor},
                                                         {"pp", &llm::Layout::pipeline, &TaskPin::pipeline},
                                                         {"cp", &llm::Layout::context, &TaskPin::context},
                                                         {"ep", &llm::Layout::expert, &TaskPin::expert},
                                                         {"etp", &llm::Layout::expert_tensor, &TaskPin::expert_tensor},
                                                         {"vpp", &llm::Layout::virtual_stages, &TaskPin::virtual_stages}}};

inline constexpr std::array<std::pair<std::string_view, llm::Recomputation>, 3> recomputation_words{
    {{"none", llm::Recomputation::none}, {"selective", llm::Recomputation::selective}, {"full", llm::Recomputation::full}}};

inline constexpr std::array<std::pair<std::string_view, bool Offload::*>, 4> offload_words{
    {{"weights", &Offload::weights},
     {"gradients", &Offload::gradients},
     {"optimizer", &Offload::optimizer},
     {"optimizer_on_host", &Offload::optimizer_on_host}}};

}  // namespace dovetail::plan
