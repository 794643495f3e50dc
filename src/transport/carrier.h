// What carries the messages of ranks that are processes.
#pragma once

#include <array>
#include <cstdint>

#include "base/enum_names.h"
#include "transport/collectives.h"

namespace dovetail::transport {

enum class CarrierKind : std::uint8_t {
  gloo,  ///< Gloo, from memory of the host to memory of the host
  nccl   ///< NCCL, from GPU to GPU, of which each rank has one
};
constexpr auto names_of(CarrierKind) {
  return std::array{base::EnumName{"gloo", CarrierKind::gloo}, base::EnumName{"nccl", CarrierKind::nccl}};
}

/// Who sums where nobody says it.
constexpr CollectiveKind usual_collectives(CarrierKind carrier) {
  return carrier == CarrierKind::nccl ? CollectiveKind::native : CollectiveKind::ordered;
}

}  // namespace dovetail::transport
