// Configurations with changes laid over them, and read again.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "trainers/export/change.h"
#include "trainers/export/trainer_writer.h"
#include "trainers/import_run.h"

namespace dovetail::trainers {

/// The configuration that is changed.
struct ExportBase {
  std::string path;  ///< as the user gave it
  std::string content;
  ImportOptions options;
  std::string hub_cache = {};  ///< as import_run has it
};

/// import_run of it.
base::Result<Import> import_base(const ExportBase& base);

/// How changes are laid over a base.
enum class ChangeForm {
  words,      ///< behind its own
  overrides,  ///< where Hydra's overrides stand in a launch script
  flags,      ///< where its flags stand
  yaml        ///< where its values stand
};

/// How these changes are; `import` is the base as it is. What goes can only go where it stands.
ChangeForm form_of(const TrainerWriter& writer, const Import& import, const std::vector<Change>& changes);

/// Changes as they are laid over a base in that form: words of Hydra's may be for keys that the file lacks.
std::vector<Change> laid_as(ChangeForm form, const TrainerWriter& writer, std::vector<Change> changes);

/// The changes laid over the base. Errors of who edits it in place.
base::Result<ExportBase> changed_base(const ExportBase& base, const Import& import, const TrainerWriter& writer,
                                      const std::vector<Change>& changes);

/// The base with the changes, as it is read; without any `import` itself. Errors of changed_base and import_run.
base::Result<Import> import_changed(const ExportBase& base, const Import& import, const std::vector<Change>& changes);

/// The content of the base with the changes where its YAML has them, and `reasons` above them: [change], or fewer.
base::Result<std::string> edited_yaml(const ExportBase& base, const Import& import, const std::vector<Change>& changes,
                                      const std::vector<std::string>& reasons);

/// Another way to run the job of a base.
struct SwitchedBase {
  std::string name;             ///< as OtherWay has it
  std::vector<Change> changes;  ///< that make it of the base
  ExportBase base;
  std::string refusal;  ///< why it is none; empty: it is
};

/// The ways in which the base's trainer may run the same job, as far as `allowed`; without the base as it is. The job
/// that each is read as differs from the base's by its backend and what it fixes of plans alone. Errors of import_run.
base::Result<std::vector<SwitchedBase>> switched_bases(const ExportBase& base, const Allowed& allowed);

}  // namespace dovetail::trainers
