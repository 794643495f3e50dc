// Rank programs as requests name them: a folder with a file for each rank.
#pragma once

#include <string>
#include <vector>

#include "answer/question/json.h"
#include "answer/question/section.h"
#include "base/result.h"
#include "pipeline/program/program.h"
#include "pipeline/schedule/schedule.h"

namespace dovetail::answer {

/// The programs of a schedule, a rank for each device, with what its problem says of steps. REQUIRES: it is valid.
base::Result<std::vector<pipeline::Program>> programs_of(const pipeline::Schedule& schedule);

/// The programs in a folder, which pipeline::check finds sound under each delivery; an Error (Failure::invalid) at the
/// instruction where they are not, or where a file is missing or wrong.
base::Result<std::vector<pipeline::Program>> load_programs(const std::string& folder);

/// What programs do and hold, rank by rank.
Sections program_sections(const std::string& folder, const std::vector<pipeline::Program>& programs);
Json programs_json(const std::string& folder, const std::vector<pipeline::Program>& programs);

}  // namespace dovetail::answer
