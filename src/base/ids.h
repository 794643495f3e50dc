// Strong index types: a device cannot be mistaken for a stage.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace dovetail::base {

/// An index, counted from 0, into the things that `Tag` names.
template <class Tag>
struct Id {
  std::int32_t value = 0;

  constexpr Id() = default;
  constexpr explicit Id(std::int32_t index_value) : value(index_value) {}
  constexpr explicit Id(std::size_t index_value) : value(static_cast<std::int32_t>(index_value)) {}

  constexpr std::size_t index() const { return static_cast<std::size_t>(value); }
  friend constexpr auto operator<=>(Id, Id) = default;
};

using DeviceId = Id<struct DeviceTag>;
using ModelId = Id<struct ModelTag>;
using ReplicaId = Id<struct ReplicaTag>;    ///< data-parallel copy within a model
using PipelineId = Id<struct PipelineTag>;  ///< one replica of one model, numbered through the file
using StageId = Id<struct StageTag>;
using MicrobatchId = Id<struct MicrobatchTag>;
using OpId = Id<struct OpTag>;  ///< a node of an OpGraph

}  // namespace dovetail::base
