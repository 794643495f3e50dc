// Over how many ranks ZeRO cuts what they have alike.
#pragma once

#include <cstdint>

#include "llm/layout.h"

namespace dovetail::llm {

/// Of `ranks` that have the same, those that cut it among them: groups of so many, where there are several that all
/// have as many, else all. 0: all.
inline std::int64_t shard_ranks(std::int64_t ranks, int group) {
  return group > 0 && group < ranks && ranks % group == 0 ? group : ranks;
}

/// Of the data-parallel and context-parallel ranks of a layout.
inline int shard_ranks(const Layout& layout, int group) {
  return static_cast<int>(shard_ranks(std::int64_t{layout.data} * layout.context, group));
}

}  // namespace dovetail::llm
