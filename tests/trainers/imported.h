// Results of imports in a form that tests can compare.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "plan/plan_file.h"
#include "trainers/import_run.h"

namespace dovetail::trainers {

/// The results of an import as strings.
struct ImportedText {
  std::string job;
  std::string plan;
  std::string not_modelled;
  std::string ignored;
  std::string assumed;
};

inline std::string findings_text(const Import& import, const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& finding : findings) text += finding_text(import, finding) + "\n";
  return text;
}

/// Returns the plan as a file, without `not_modelled`, which is compared separately.
inline std::string plan_text(const Import& import) {
  plan::Plan bare_plan = import.plan;
  plan::Job bare_job = import.job;
  bare_plan.not_modelled.clear();
  bare_job.not_modelled.clear();
  return plan::plan_to_json(bare_plan, bare_job);
}

inline ImportedText imported_text_of(const std::string& path, const std::string& content,
                                     const ImportOptions& options = {}) {
  const base::Result<Import> import = import_run(path, content, options);
  EXPECT_TRUE(import.ok()) << (import.ok() ? "" : base::to_text(import.error())) << "\n" << content;
  if (!import.ok()) return {};
  return {.job = import->text,
          .plan = plan_text(*import),
          .not_modelled = findings_text(*import, import->run.not_modelled),
          .ignored = findings_text(*import, import->run.ignored),
          .assumed = findings_text(*import, import->run.assumed)};
}

/// Returns the plan of a task in the imported plan.
inline const plan::TaskPlan& planned(const Import& import, std::string_view task) {
  for (std::size_t i = 0; i < import.job.workflow.tasks.size(); ++i)
    if (import.job.workflow.tasks[i].name == task) return import.plan.tasks[i];
  ADD_FAILURE() << "there is no task " << task;
  static const plan::TaskPlan none;
  return none;
}

/// Returns a job without its `fixed` section, which lists separate devices of roles.
inline std::string without_pools(const std::string& job) { return job.substr(0, job.find("fixed:\n")); }

/// The result that changing one setting affects.
enum class Where { job, plan, not_modelled, ignored };

inline void expect_changed(const ImportedText& before, const ImportedText& after, Where where) {
  switch (where) {
    case Where::job:
      EXPECT_NE(before.job, after.job);
      break;
    case Where::plan:
      EXPECT_EQ(without_pools(before.job), without_pools(after.job));
      // A plan also names its job.
      EXPECT_NE(before.plan, after.plan);
      break;
    case Where::not_modelled:
      EXPECT_NE(before.not_modelled, after.not_modelled);
      break;
    case Where::ignored:
      EXPECT_EQ(before.job, after.job);
      EXPECT_EQ(before.plan, after.plan);
      EXPECT_EQ(before.not_modelled, after.not_modelled);
      EXPECT_NE(before.ignored, after.ignored);
      break;
  }
}

}  // namespace dovetail::trainers
