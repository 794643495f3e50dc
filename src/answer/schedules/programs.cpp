#include "answer/schedules/programs.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "answer/text/text.h"
#include "base/file.h"
#include "pipeline/program/check.h"
#include "pipeline/program/compile.h"
#include "pipeline/program/program.h"

namespace dovetail::answer {
namespace {

using base::Result;
using pipeline::Code;
using pipeline::Program;

std::string path_of(const std::string& folder, int rank) {
  return std::filesystem::path(folder) / pipeline::program_file_name(rank);
}

Result<pipeline::ProgramFile> load_program(const std::string& folder, int rank) {
  const std::string path = path_of(folder, rank);
  DOVETAIL_TRY(const std::string content, base::read_file(path));
  DOVETAIL_TRY(pipeline::ProgramFile file, pipeline::parse_program(content, path));
  if (file.program.rank != rank)
    return base::Error{base::Failure::bad_input, path, 1, 1,
                       fmt::format("this is the program of rank {}, expected rank {}", file.program.rank, rank)};
  return file;
}

std::int64_t count(const Program& program, Code code) {
  return std::count_if(program.code.begin(), program.code.end(),
                       [code](const pipeline::Instruction& instruction) { return instruction.code == code; });
}

}  // namespace

Result<std::vector<Program>> programs_of(const pipeline::Schedule& schedule) {
  return pipeline::sound_programs(schedule, pipeline::rank_per_device(schedule.problem));
}

Result<std::vector<Program>> load_programs(const std::string& folder) {
  DOVETAIL_TRY(pipeline::ProgramFile first, load_program(folder, 0));
  std::vector<std::vector<base::FilePlace>> places{std::move(first.places)};
  std::vector<Program> programs{std::move(first.program)};
  for (int rank = 1; rank < programs.front().ranks; ++rank) {
    DOVETAIL_TRY(pipeline::ProgramFile next, load_program(folder, rank));
    programs.push_back(std::move(next.program));
    places.push_back(std::move(next.places));
  }
  for (const pipeline::Delivery delivery : pipeline::deliveries) {
    const auto fault = pipeline::check(programs, delivery);
    if (!fault) continue;
    const base::FilePlace place =
        fault->instruction ? places[static_cast<std::size_t>(fault->rank)][*fault->instruction] : base::FilePlace{1, 1};
    return base::Error{base::Failure::invalid, path_of(folder, fault->rank), place.line, place.column,
                       fmt::format("{} (delivery: {})", fault->message, pipeline::name_of(delivery))};
  }
  return programs;
}

Sections program_sections(const std::string& folder, const std::vector<Program>& programs) {
  Table table;
  table.columns = {{"rank"},       {"stages"},          {"ops"},          {"sends"}, {"receives"},
                   {"reductions"}, {"peak activation"}, {"peak messages"}};
  for (const Program& program : programs)
    table.rows.push_back({std::to_string(program.rank), std::to_string(program.stages.size()),
                          std::to_string(count(program, Code::run)), std::to_string(count(program, Code::send)),
                          std::to_string(count(program, Code::receive)), std::to_string(program.reductions.size()),
                          base::format_memory(program.peak.activation), std::to_string(program.peak.arrived)});
  return Sections(fmt::format("{}: {}, free of deadlocks with buffered, tag-matched and in-order messages\n\n", folder,
                              counted(static_cast<std::int64_t>(programs.size()), "program"))) +
         Sections(std::move(table));
}

Json programs_json(const std::string& folder, const std::vector<Program>& programs) {
  Json object{{"format", "dovetail/program-check@1"}, {"folder", folder}, {"valid", true}, {"ranks", Json::array()}};
  for (const Program& program : programs)
    object["ranks"].push_back({{"rank", program.rank},
                               {"stages", program.stages.size()},
                               {"ops", count(program, Code::run)},
                               {"sends", count(program, Code::send)},
                               {"receives", count(program, Code::receive)},
                               {"reductions", program.reductions.size()},
                               {"peak_activation", json_memory(program.peak.activation)},
                               {"peak_arrived", program.peak.arrived}});
  return object;
}

}  // namespace dovetail::answer
