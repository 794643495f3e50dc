// Rank programs as dovetail/program@1 files, one a rank.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/file_place.h"
#include "base/result.h"
#include "pipeline/program/program.h"

namespace dovetail::pipeline {

inline constexpr std::string_view program_format = "dovetail/program@1";

std::string program_to_json(const Program& program);

/// A program, and where its instructions stand.
struct ProgramFile {
  Program program;
  std::vector<base::FilePlace> places;
};

/// Reads one rank's program. That it goes with those of the other ranks is for `check` to say. `path` is for messages.
base::Result<ProgramFile> parse_program(std::string_view content, const std::string& path);

/// "rank-3.json", the name of a rank's file in a folder of programs.
std::string program_file_name(int rank);

}  // namespace dovetail::pipeline
