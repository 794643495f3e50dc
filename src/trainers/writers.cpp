#include "trainers/writers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>

#include "base/document.h"
#include "base/enum_names.h"
#include "trainers/areal/areal.h"
#include "trainers/nemo_rl/nemo_rl.h"
#include "trainers/openrlhf/openrlhf.h"
#include "trainers/roll/roll.h"
#include "trainers/slime/slime.h"
#include "trainers/verl/verl.h"

namespace dovetail::trainers {
namespace {

const std::array<const TrainerWriter*, 6> writers{&verl_writer,  &nemo_rl_writer, &openrlhf_writer,
                                                  &slime_writer, &roll_writer,    &areal_writer};

}  // namespace

std::vector<std::string_view> export_names() {
  std::vector<std::string_view> names;
  for (const TrainerWriter* const writer : writers) names.push_back(writer->name);
  return names;
}

base::Result<const TrainerWriter*> find_writer(std::string_view name) {
  for (const TrainerWriter* const writer : writers)
    if (writer->name == name) return writer;
  const std::vector<std::string_view> names = export_names();
  return base::bad_input(fmt::format("--to {}: no such trainer{}; accepted: {}", base::quote(name),
                                     base::did_you_mean(name, names), fmt::join(names, ", ")));
}

}  // namespace dovetail::trainers
