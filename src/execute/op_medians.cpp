#include "execute/op_medians.h"

#include <algorithm>
#include <cstddef>
#include <optional>

namespace dovetail::execute {
namespace {

using base::Ticks;
using pipeline::OpTraits;

Ticks median(std::vector<Ticks> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

OpMedians medians_of(std::map<SameOps, std::vector<Ticks>> times) {
  OpMedians medians;
  for (auto& [ops, taken] : times) medians.emplace(ops, median(std::move(taken)));
  return medians;
}

/// What an op of a stage of the problem took; nothing where a part of it was not measured.
std::optional<Ticks> time_of(const OpMedians& medians, SameOps ops, int parts) {
  const bool hands_on = pipeline::traits_of(ops.kind).output != pipeline::OutputTo::nowhere;
  const int first = ops.stage.value * parts;
  Ticks sum;
  Ticks longest;
  for (int part = 0; part < parts; ++part) {
    ops.stage.value = first + part;
    const auto known = medians.find(ops);
    if (known == medians.end()) return std::nullopt;
    sum += known->second;
    longest = std::max(longest, known->second);
  }
  // No op of a problem takes no time.
  return std::max(Ticks(1), hands_on ? sum : longest);
}

/// The kind whose ops last as long as `traits` says of a model: B where no backward is split.
pipeline::OpKind kind_of(const pipeline::Model& model, const OpTraits& traits) {
  return traits.kind == pipeline::OpKind::I && !model.split() ? pipeline::OpKind::B : traits.kind;
}

}  // namespace

OpMedians medians_of(const std::vector<pipeline::Program>& programs, const ReplayTimes& times) {
  std::map<SameOps, std::vector<Ticks>> taken;
  for (std::size_t rank = 0; rank < programs.size(); ++rank) {
    const std::vector<pipeline::Instruction>& code = programs[rank].code;
    for (std::size_t i = 0; i < code.size(); ++i) {
      if (code[i].code != pipeline::Code::run) continue;
      const pipeline::ProgramStage& stage = programs[rank].stages[static_cast<std::size_t>(code[i].target)];
      taken[{stage.model, stage.stage, code[i].op}].push_back(times[rank][i].end - times[rank][i].begin);
    }
  }
  return medians_of(std::move(taken));
}

OpMedians medians_of(std::span<const OpMedians> runs) {
  std::map<SameOps, std::vector<Ticks>> taken;
  for (const OpMedians& run : runs)
    for (const auto& [ops, time] : run) taken[ops].push_back(time);
  return medians_of(std::move(taken));
}

pipeline::Problem with_measured_times(pipeline::Problem problem, const pipeline::Placement& placement,
                                      const OpMedians& medians) {
  for (std::size_t m = 0; m < problem.models.size(); ++m) {
    pipeline::Model& model = problem.models[m];
    pipeline::for_each_duration(model, [&](std::vector<Ticks>& times, const OpTraits& traits) {
      const pipeline::OpKind kind = kind_of(model, traits);
      for (std::size_t s = 0; s < times.size(); ++s)
        if (const auto time = time_of(medians, {base::ModelId(m), base::StageId(s), kind}, placement.models[m].parts))
          times[s] = *time;
    });
  }
  return problem;
}

}  // namespace dovetail::execute
