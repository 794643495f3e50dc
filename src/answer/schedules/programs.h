// Reads rank programs: a folder with one file per rank.
#pragma once

#include <string>
#include <vector>

#include "answer/question/json.h"
#include "answer/question/section.h"
#include "base/result.h"
#include "pipeline/program/program.h"
#include "pipeline/schedule/schedule.h"

namespace dovetail::answer {

/// Returns the programs of a schedule, with one rank per device. pipeline::check finds no fault in them. Errors: those
/// of pipeline::compile. REQUIRES: the schedule is valid.
base::Result<std::vector<pipeline::Program>> programs_of(const pipeline::Schedule& schedule);

/// Reads the programs in a folder and checks them with pipeline::check for each kind of message delivery. Errors: a
/// missing or malformed file, and a faulty program (Failure::invalid, at the faulty instruction if there is one).
base::Result<std::vector<pipeline::Program>> load_programs(const std::string& folder);

/// Returns a table of the ops, messages and memory of each rank.
Sections program_sections(const std::string& folder, const std::vector<pipeline::Program>& programs);
Json programs_json(const std::string& folder, const std::vector<pipeline::Program>& programs);

}  // namespace dovetail::answer
