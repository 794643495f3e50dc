#include "realloc/oracle.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>

namespace dovetail::realloc::test {
namespace {

using llm::Slice;
using llm::Tensor;

std::string name_of(const Tensor& tensor) { return tensor.tied ? "model.embed_tokens.weight" : tensor.name; }

/// [tensor] the value of its first element.
std::map<std::string, std::int64_t> first_worths(const llm::Transformer& model) {
  std::map<std::string, std::int64_t> worths;
  std::int64_t next = 0;
  for (const Tensor& tensor : llm::tensors_of(model)) {
    if (tensor.tied) continue;
    worths[tensor.name] = next;
    next += tensor.elements();
  }
  return worths;
}

/// Calls f(element) for the slice's elements, row by row.
template <class F>
void for_elements(const Tensor& tensor, const Slice& slice, F f) {
  for (std::int64_t row = slice.row_begin; row < slice.row_end; ++row)
    for (std::int64_t column = slice.column_begin; column < slice.column_end; ++column)
      f(static_cast<std::size_t>(row * tensor.columns + column));
}

/// The index of a rank's part of the slices of a tensor, and the number of parts.
std::pair<std::int64_t, std::int64_t> part_of(const Side& side, int rank, const Tensor& tensor) {
  const llm::Layout& layout = side.layout;
  const llm::Coordinates place = llm::coordinates_of(layout, rank);
  std::int64_t copy = place.data * layout.context + place.context;
  std::int64_t copies = layout.data * layout.context;
  if (tensor.expert >= 0) {
    copy = llm::expert_place(layout, place).replica;
    copies = copies * layout.tensor / (layout.expert * layout.expert_tensor);
  }
  const bool has_groups = side.shard_group > 0 && copies % side.shard_group == 0;
  return has_groups ? std::pair(copy % side.shard_group, std::int64_t{side.shard_group}) : std::pair(copy, copies);
}

}  // namespace

std::vector<Weights> held_by(const Side& side, int devices) {
  std::vector<Weights> held(static_cast<std::size_t>(devices));
  auto worths = first_worths(side.model);
  for (int rank = 0; rank < side.layout.devices(); ++rank) {
    Weights& own = held[static_cast<std::size_t>(side.mesh.first + rank)];
    for (const llm::HeldTensor& part : llm::tensors_of_rank(side.layout, side.model, rank)) {
      const auto [copy, copies] =
          side.layout.zero == 3 ? part_of(side, rank, part.tensor) : std::pair<std::int64_t, std::int64_t>{0, 1};
      std::vector<std::int64_t>& values = own[name_of(part.tensor)];
      values.resize(static_cast<std::size_t>(part.tensor.elements()), nowhere);
      std::int64_t counted = 0;
      for_elements(part.tensor, part.slice,
                   [&, begin = copy * part.slice.elements() / copies,
                    end = (copy + 1) * part.slice.elements() / copies](std::size_t element) {
                     if (counted >= begin && counted < end)
                       values[element] = worths[name_of(part.tensor)] + static_cast<std::int64_t>(element);
                     ++counted;
                   });
    }
  }
  return held;
}

std::vector<Weights> held_in_common(const Side& side, const Side& other, int devices) {
  const auto theirs = first_worths(other.model);
  std::vector<Weights> held = held_by(side, devices);
  for (Weights& own : held) std::erase_if(own, [&](const auto& entry) { return theirs.count(entry.first) == 0; });
  return held;
}

std::string apply(const std::vector<Transfer>& transfers, const llm::Transformer& model,
                  std::vector<Weights>& devices) {
  const std::vector<Tensor> tensors = llm::tensors_of(model);
  for (const Transfer& transfer : transfers) {
    const Tensor& tensor = tensors.at(static_cast<std::size_t>(transfer.tensor));
    std::vector<std::int64_t>& sent = devices.at(transfer.from.index())[tensor.name];
    std::vector<std::int64_t>& received = devices.at(transfer.to.index())[tensor.name];
    for (auto* values : {&sent, &received}) values->resize(static_cast<std::size_t>(tensor.elements()), nowhere);
    std::string fault;
    if (transfer.slice.elements() <= 0) fault = "an empty slice";
    for_elements(tensor, transfer.slice, [&](std::size_t element) {
      if (sent[element] == nowhere) fault = "the sender lacks it";
      if (received[element] != nowhere) fault = "the receiver has it already";
      received[element] = sent[element];
    });
    if (!fault.empty())
      return fmt::format("{} from {} to {}: {}", tensor.name, transfer.from.value, transfer.to.value, fault);
  }
  return "";
}

bool has_all(const std::vector<Weights>& devices, const std::vector<Weights>& wanted) {
  for (std::size_t device = 0; device < wanted.size(); ++device)
    for (const auto& [name, values] : wanted[device]) {
      const auto found = devices[device].find(name);
      for (std::size_t element = 0; element < values.size(); ++element) {
        if (values[element] == nowhere) continue;
        if (found == devices[device].end() || values[element] != found->second[element]) return false;
      }
    }
  return true;
}

std::map<ElementPlaces, std::int64_t> count_elements(const std::vector<Weights>& before,
                                                     const std::vector<Weights>& wanted) {
  std::map<std::string, std::vector<ElementPlaces>> places;
  const auto mark = [&](const std::vector<Weights>& devices, std::uint64_t ElementPlaces::* bits) {
    for (std::size_t device = 0; device < devices.size(); ++device)
      for (const auto& [name, values] : devices[device]) {
        std::vector<ElementPlaces>& of_tensor = places[name];
        of_tensor.resize(values.size());
        for (std::size_t element = 0; element < values.size(); ++element)
          if (values[element] != nowhere) of_tensor[element].*bits |= std::uint64_t{1} << device;
      }
  };
  mark(before, &ElementPlaces::holders);
  mark(wanted, &ElementPlaces::needers);
  std::map<ElementPlaces, std::int64_t> counts;
  for (const auto& [name, of_tensor] : places)
    for (const ElementPlaces& element : of_tensor)
      if (element.needers != 0) ++counts[element];
  return counts;
}

}  // namespace dovetail::realloc::test
