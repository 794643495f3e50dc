// Whose configurations are written.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "trainers/export/trainer_writer.h"

namespace dovetail::trainers {

/// "verl", ...
std::vector<std::string_view> export_names();

/// The trainer of that name; an Error that names all where there is none.
base::Result<const TrainerWriter*> find_writer(std::string_view name);

}  // namespace dovetail::trainers
