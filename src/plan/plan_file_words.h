// The words of plan files, for the reader and the writer.
#pragma once

#include <array>
#include <string_view>
#include <utility>

#include "llm/layout.h"
#include "plan/plan.h"

namespace dovetail::plan {

/// Parallel degrees of a layout. ZeRO's stage, which may be 0, is none.
inline constexpr std::array<std::pair<std::string_view, int llm::Layout::*>, 7> degree_words{{{"dp", &llm::Layout::data},
                                                                                              {"tp", &llm::Layout::tensor},
                                                                                              {"pp", &llm::Layout::pipeline},
                                                                                              {"cp", &llm::Layout::context},
                                                                                              {"ep", &llm::Layout::expert},
                                                                                              {"etp", &llm::Layout::expert_tensor},
                                                                                              {"vpp", &llm::Layout::virtual_stages}}};

inline constexpr std::array<std::pair<std::string_view, llm::Recomputation>, 3> recomputation_words{
    {{"none", llm::Recomputation::none}, {"selective", llm::Recomputation::selective}, {"full", llm::Recomputation::full}}};

inline constexpr std::array<std::pair<std::string_view, bool Offload::*>, 4> offload_words{
    {{"weights", &Offload::weights},
     {"gradients", &Offload::gradients},
     {"optimizer", &Offload::optimizer},
     {"optimizer_on_host", &Offload::optimizer_on_host}}};

}  // namespace dovetail::plan
