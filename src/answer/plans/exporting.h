// Exports a plan as changes to a trainer's configuration, or as a complete configuration.
#pragma once

#include <concepts>
#include <optional>
#include <string>
#include <vector>

#include "answer/question/callbacks.h"
#include "answer/question/input.h"
#include "answer/question/option.h"
#include "answer/question/section.h"
#include "base/enum_names.h"
#include "predict/closed_form/scenario.h"
#include "trainers/export_run.h"

namespace dovetail::answer {

enum class ExportFormat {
  file,  ///< file with the changed settings
  args   ///< one line per argument that changes the settings
};
constexpr auto names_of(ExportFormat) {
  return std::array{base::EnumName{"file", ExportFormat::file}, base::EnumName{"args", ExportFormat::args}};
}

struct ExportRequest {
  Input plan;
  JobInput base;             ///< configuration to change; empty if `job` is set
  std::optional<Input> job;  ///< job file of the plan, to write a complete file; nullopt if `base` is set
  std::string trainer;       ///< trainer to export to; empty: the trainer of the base or the framework of the job
  ExportFormat format = ExportFormat::file;
  std::vector<std::string> allowed = {};  ///< settings of the base that may change, see allowed_of
};
template <std::same_as<ExportRequest> T>
auto options_of(const T*) {
  return options<T>(
      option("PLAN", &T::plan, File{}, "plan file (dovetail/plan@1), or '-' for stdin"),
      option("base", &T::base, JobFile{}, "launch script or configuration to change"),
      option("job", &T::job, File{}, "job file of the plan; export then writes a complete configuration"),
      option("to", &T::trainer, String{"TRAINER"},
             "trainer, such as verl or nemo-rl (default: trainer of base or job)"),
      option("format", &T::format, Choice{}, "file with the changes, or one line per argument (default {})"),
      option("allow", &T::allowed, String{"WHAT"}, "trainer settings that may change: backend, mode or backend,mode"));
}

/// Change of a setting, and the effect of omitting it.
struct ReasonedChange {
  trainers::Change change;
  std::string reason;  ///< "without it, the iteration takes 3.1 s more", "without it, 4.20 GiB more peak memory"; empty
                       ///< in a complete file
};

struct ExportAnswer {
  std::string trainer;
  std::string job_name;
  std::string base_file;     ///< path as given; empty for a complete file
  std::string reading;       ///< trainers::reading_text of the base
  bool is_script = true;     ///< the output is a launch script, otherwise a configuration
  bool in_place = false;     ///< true: the output is `content`; false: a file that refers to the base (exported_file)
  std::string base_content;  ///< content of the base
  std::string content;       ///< changed copy of the base if `in_place`, or the complete file
  std::vector<trainers::RequiredName> required;  ///< variables that the user of a complete file must set
  std::string plan_name;                         ///< placement of the plan
  std::vector<ReasonedChange> changes;
  plan::Plan plan;  ///< plan that the changed configuration runs
  std::vector<plan::NotModelled> not_modelled = {};
  double seconds = 0;       ///< predicted time of an iteration with the plan
  double base_seconds = 0;  ///< predicted time of an iteration of the unchanged base; 0 without a base
  ExportFormat format = ExportFormat::file;
  Outcome outcome = Outcome::done;
};

/// Errors: input that cannot be read, errors of trainers::export_run and trainers::export_complete_file, an unknown or
/// missing trainer, both a base and a job or neither, and options of a base without one.
base::Result<ExportAnswer> answer_to(const ExportRequest& request, const Callbacks& callbacks);

/// Exports a plan that was found for the configuration `input`. `switches` turn the configuration into the scenario's
/// job. Keeps only changes that the trainer or the memory margin requires, or that save at least 0.2% of the iteration
/// time. Errors: a configuration that cannot be read, and errors of trainers::export_run.
base::Result<ExportAnswer> export_found(const JobInput& input, const predict::Scenario& scenario, plan::Plan plan,
                                        const std::vector<trainers::Change>& switches = {});

/// Returns the content of the file to write at `target`. Paths in it are relative to the folder of `target`. The first
/// case that applies determines the content:
/// - with ExportFormat::args, one line per argument;
/// - without a base, the complete file;
/// - if `in_place` is set, a changed copy of the base;
/// - if the base is a launch script, a script that starts the base with the changed settings;
/// - if the base is a configuration, a configuration that includes the base and overrides the changed settings.
std::string exported_file(const ExportAnswer& answer, const std::string& target);

/// Changes with their reasons, and the iteration times before and after. For a complete file, its settings and the
/// variables that it needs.
Sections sections(const ExportAnswer& answer);
/// A dovetail/export@1 object.
std::string to_json(const ExportAnswer& answer);

}  // namespace dovetail::answer
