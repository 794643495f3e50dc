// AReaL's allocation strings: which backend runs an engine, on how many GPUs, and how it is cut over them.
//
// The grammar is that of areal/api/alloc_mode.py. Since March 2026 each engine has a string of its own
// ("sglang:d4t2", "megatron:(attn:d4p2t2|ffn:d2p2e4)"); before that one string said all
// ("sglang:d4+fsdp:d4", "sglang.d4p1t1+d4p1t1"), + between engines that have GPUs of their own, | between those that
// share them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace dovetail::trainers {

/// One engine. Degrees are 1 to 65536.
struct ArealAllocation {
  std::string backend;  ///< sglang, vllm, fsdp, megatron or archon; empty: none is said
  std::string name;     ///< in brackets: "fsdp[actor]:d4"; empty: none
  int data = 1;
  int tensor = 1;
  int pipeline = 1;
  int context = 1;
  int expert = 1;
  int expert_tensor = 1;

  /// GPUs: what data, tensor, pipeline and context take. At most max_devices.
  std::int64_t devices() const;
  /// Whether it generates.
  bool generates() const { return backend == "sglang" || backend == "vllm"; }

  bool operator==(const ArealAllocation&) const = default;
};

/// The string of one engine. An Error with a message only ("..., and AReaL stops; accepted: ...") where it is none: no
/// backend, a degree that the backend does not have, experts that do not divide the GPUs, attention and experts on
/// different numbers of GPUs, several engines.
base::Result<ArealAllocation> parse_areal_backend(std::string_view text);

/// What one string for all says: an engine that generates and one that trains.
struct ArealMode {
  ArealAllocation rollout;
  ArealAllocation actor;
  bool colocated = false;  ///< they share their GPUs
};

/// The string for all engines, by any of its versions: a dot for the colon, `m` for `t`, training without a backend
/// (Megatron where it has pipelines or experts, else FSDP). Errors as those of parse_areal_backend, and where it does
/// not have exactly one engine of each kind.
base::Result<ArealMode> parse_areal_mode(std::string_view text);

}  // namespace dovetail::trainers
