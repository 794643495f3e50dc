// Applies changes to configurations and reads the results. Lists the trainers whose configurations can be written.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "trainers/export/change.h"
#include "trainers/export/trainer_writer.h"
#include "trainers/import_run.h"

namespace dovetail::trainers {

/// Returns the names of the trainers whose configurations can be written: "verl", ...
std::vector<std::string_view> export_names();

/// Returns the writer of the trainer with this name. The Error for an unknown name lists all names.
base::Result<const TrainerWriter*> find_writer(std::string_view name);

/// A configuration to be changed.
struct ExportBase {
  std::string path;  ///< as given by the user
  std::string content;
  ImportOptions options;
  std::string hub_cache = {};  ///< download cache of Hugging Face; see import_run
};

/// Reads the base with import_run.
base::Result<Import> import_base(const ExportBase& base);

/// Form in which changes are applied to a base.
enum class ChangeForm {
  arguments,  ///< arguments added after those of the base
  overrides,  ///< edits of the Hydra overrides in a launch script
  flags,      ///< edits of the flags in a launch script
  yaml        ///< edits of the values in a YAML file
};

/// Returns the form in which `changes` are applied to the base that was read as `import`. It depends on the trainer and
/// the kind of file. For a launch script with Hydra overrides, it is `overrides` if a change must be made in place
/// (Change::in_place), otherwise `arguments`.
ChangeForm form_of(const TrainerWriter& writer, const Import& import, const std::vector<Change>& changes);

/// Converts changes to `form`. If the trainer's YAML files are edited in place (TrainerWriter::patches), arguments get
/// the prefix `++`, because the file may lack their keys.
std::vector<Change> converted_to(ChangeForm form, const TrainerWriter& writer, std::vector<Change> changes);

/// Returns the base with the changes applied. Errors are those of in-place editing.
base::Result<ExportBase> changed_base(const ExportBase& base, const Import& import, const TrainerWriter& writer,
                                      const std::vector<Change>& changes);

/// Applies the changes and reads the result. Without changes, returns `import`. Errors are those of changed_base and
/// import_run.
base::Result<Import> import_changed(const ExportBase& base, const Import& import, const std::vector<Change>& changes);

/// Returns the content of the base with the changes edited into its YAML. `reasons[i]`, if present, becomes a comment
/// above change i.
base::Result<std::string> edited_yaml(const ExportBase& base, const Import& import, const std::vector<Change>& changes,
                                      const std::vector<std::string>& reasons);

/// A base changed to another backend or mode, to run the same job.
struct SwitchedBase {
  std::string name;             ///< "megatron, 4 of 8 GPUs for engines"
  std::vector<Change> changes;  ///< changes that turn the original base into `base`
  ExportBase base;
  std::string rejection;  ///< why `base` cannot run the job; empty: it can
};

/// Returns the base switched to every other backend, every other mode, and every combination of the two that `allowed`
/// permits and the trainer supports. A switched base without a `rejection` runs the same job, apart from the backend
/// and the job's `fixed` section. Errors are those of import_run.
base::Result<std::vector<SwitchedBase>> switched_bases(const ExportBase& base, const Allowed& allowed);

}  // namespace dovetail::trainers
