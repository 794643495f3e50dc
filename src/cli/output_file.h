// Files that commands write.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace dovetail::cli {

/// Whether `path` is standard output: "-", or any name of what it goes to, as /dev/stdout is.
bool is_standard_output(const std::string& path);

/// An Error where `path`, which is to be written, cannot be: its folder does not exist, or nothing can be written
/// there.
base::Status check_output_path(const std::string& path);

/// An Error where `path`, which is to be written, if anything is, is a file that was read, also one that another input
/// named (base::read_as), or one that is still to be read: it would be lost. write_output() asks as well; asked before
/// long work, that is not done in vain.
base::Status check_no_input(const std::optional<std::string>& path,
                            const std::vector<std::optional<std::string>>& to_be_read = {});

/// Writes `content` to the file at `path`, and gives the name of where it is: "<stdout>" for standard output. An Error
/// where an input would be lost.
base::Result<std::string> write_output(const std::string& path, std::string_view content);

/// A file of an answer that has several.
struct OutputFile {
  std::string path;
  std::string content;
};

/// The same of a set of files, which is written whole or not at all (base::write_files). REQUIRES: none of several is
/// standard output.
base::Result<std::vector<std::string>> write_outputs(const std::vector<OutputFile>& files);

/// Prints `text`, what is said of an answer that is written to `path`: on standard error where that is standard output.
void print_beside(const std::optional<std::string>& path, std::string_view text);

}  // namespace dovetail::cli
