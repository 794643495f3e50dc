#include "pipeline/program/check.h"

#include <fmt/format.h>

#include <array>

#include "pipeline/program/agreement.h"
#include "pipeline/program/progress.h"
#include "pipeline/program/rank_check.h"

namespace dovetail::pipeline {
namespace {

constexpr std::array<std::string_view, 3> delivery_names{"buffered", "rendezvous by tag", "rendezvous in order"};

}  // namespace

std::string_view name_of(Delivery delivery) { return delivery_names[static_cast<std::size_t>(delivery)]; }

std::string describe(const ProgramFault& fault) {
  if (!fault.instruction) return fmt::format("rank {}: {}", fault.rank, fault.message);
  return fmt::format("rank {}, instruction {}: {}", fault.rank, *fault.instruction, fault.message);
}

std::optional<ProgramFault> check(std::span<const Program> programs, Delivery delivery) {
  for (const Program& program : programs)
    if (auto fault = check_tables(program)) return fault;
  for (const Program& program : programs)
    if (auto fault = check_rank(program)) return fault;
  if (programs.empty()) return std::nullopt;
  if (auto fault = find_disagreement(programs)) return fault;
  return find_deadlock(programs, delivery);
}

}  // namespace dovetail::pipeline
