// A plan as what has to change in the configuration that a trainer is given.
#pragma once

#include <concepts>
#include <optional>
#include <string>
#include <vector>

#include "answer/question/input.h"
#include "answer/question/option.h"
#include "answer/question/section.h"
#include "answer/question/watch.h"
#include "base/enum_names.h"
#include "predict/closed_form/scenario.h"
#include "trainers/export_run.h"
#include "trainers/export_whole.h"

namespace dovetail::answer {

enum class ExportFormat {
  file,  ///< a file that lays the changes over the base
  args   ///< a line for each setting
};
constexpr auto names_of(ExportFormat) {
  return std::array{base::EnumName{"file", ExportFormat::file}, base::EnumName{"args", ExportFormat::args}};
}

struct ExportRequest {
  Input plan;
  JobInput base;             ///< empty where a whole file is written
  std::optional<Input> job;  ///< that a whole file is written of
  std::string trainer;       ///< empty: that of the base, or the framework of the job
  ExportFormat format = ExportFormat::file;
  std::vector<std::string> allowed = {};  ///< what of the base may be another (allowed_of)
};
template <std::same_as<ExportRequest> T>
auto options_of(const T*) {
  return options<T>(
      option("PLAN", &T::plan, File{}, "the plan, a dovetail/plan@1 file, '-' for standard input"),
      option("base", &T::base, JobFile{}, "the launch script or configuration that is changed"),
      option("job", &T::job, File{}, "in place of it the plan's job: a whole file is written"),
      option("to", &T::trainer, Words{"TRAINER"},
             "whose it is: verl, nemo-rl, openrlhf, slime, roll, areal (default: that of the base, or the framework of "
             "the job)"),
      option("format", &T::format, Choice{},
             "a file that lays the changes over the base, or a line a setting (default {})"),
      option("allow", &T::allowed, Words{"WHAT"},
             "the plan may be of another backend, mode, or backend,mode than the base has (plan --allow found it)"));
}

/// A change with what a run without it would be.
struct ReasonedChange {
  trainers::Change change;
  std::string reason;  ///< "without it 3.10 s more", "without it 4.20 GiB too much on the fullest device"
};

struct ExportAnswer {
  std::string trainer;
  std::string job_name;
  std::string base_file;                         ///< as its path was given; empty: a whole file is written
  std::string reading;                           ///< what the base is read as
  bool is_script = true;                         ///< what is written is a launch script; else a configuration
  bool in_place = false;                         ///< `content` is what is written
  std::string base_content;                      ///< as it is
  std::string content;                           ///< with the changes, where they are made in place; a whole file
  std::vector<trainers::DemandedName> demanded;  ///< of a whole file: what only its user knows
  std::string plan_name;                         ///< its placement
  std::vector<ReasonedChange> changes;
  plan::Plan plan;  ///< that the changed configuration runs
  std::vector<plan::NotModelled> not_modelled = {};
  double seconds = 0;       ///< an iteration of it, as predicted
  double base_seconds = 0;  ///< of the base as it is; 0 without one
  ExportFormat format = ExportFormat::file;
  Outcome outcome = Outcome::done;
};

/// Errors of what is read, and those of trainers::export_run and trainers::export_whole; one where neither a base nor a
/// job is given, or both are.
base::Result<ExportAnswer> ask(const ExportRequest& request, const Watch& watch);

/// A plan that was found for the configuration `input`, whose job is the scenario's with `switches`, without the
/// changes that gain less than two thousandths of the iteration each: the rest of the configuration stays as its users
/// have it. Errors as above.
base::Result<ExportAnswer> export_found(const JobInput& input, const predict::Scenario& scenario, plan::Plan plan,
                                        const std::vector<trainers::Change>& switches = {});

/// What is written to `target`: of a launch script one that starts it, with the settings in an array; of a
/// configuration one that begins from it; a copy, where flags or values are changed in place; a whole file where there
/// is no base; lines with ExportFormat::args. Paths lead from the folder of `target`.
std::string exported_file(const ExportAnswer& answer, const std::string& target);

/// What changes, each with its reason, and the iteration before and after.
Sections sections(const ExportAnswer& answer);
/// A dovetail/export@1 object.
std::string to_json(const ExportAnswer& answer);

}  // namespace dovetail::answer
