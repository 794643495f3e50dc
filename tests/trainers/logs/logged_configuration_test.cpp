// Configurations at the start of logs: printed by Python on many lines, or in the command that started the run.
#include "trainers/logs/logged_configuration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "plan/plan_file.h"
#include "trainers/import_run.h"
#include "trainers/verl/imported.h"
#include "trainers/verl/printed.h"

namespace dovetail::trainers {
namespace {

using testing::HasSubstr;

syntax::Setting read(const std::string& log) {
  auto setting = read_printed_configuration(log, "run.log", "actor_rollout_ref");
  EXPECT_TRUE(setting.ok()) << base::to_text(setting.error());
  return *std::move(setting);
}

TEST(PrintedConfiguration, IsReadWithPlaces) {
  for (const std::string& prefix : {std::string(), ray}) {
    const syntax::Setting root = read(log_with(printed, prefix));
    EXPECT_EQ(find_setting(root, "actor_rollout_ref.actor.optim.lr")->text, "1e-06");
    EXPECT_EQ(find_setting(root, "actor_rollout_ref.actor.ppo_micro_batch_size")->kind, syntax::Setting::Kind::null);
    EXPECT_EQ(find_setting(root, "actor_rollout_ref.actor.use_kl_loss")->kind, syntax::Setting::Kind::boolean);
    EXPECT_EQ(find_setting(root, "actor_rollout_ref.actor.checkpoint.save_contents[1]")->text, "optimizer");
    EXPECT_EQ(find_setting(root, "actor_rollout_ref.model.custom_chat_template")->text,
              "{% for message in messages %}it's");
    EXPECT_EQ(find_setting(root, "trainer.logger")->items.size(), 2U);
    const syntax::Place place = find_setting(root, "trainer.nnodes")->place;
    EXPECT_EQ(place.line, 2 + static_cast<int>(printed.size()));
    EXPECT_EQ(place.column, static_cast<int>(prefix.size() + printed.back().find("2}}") + 1));
    EXPECT_EQ(root.place.line, 3);
  }
}

TEST(PrintedConfiguration, LinesOfOtherProcessesMayIntervene) {
  EXPECT_EQ(to_json(read(log_with(printed, ray, other))), to_json(read(log_with(printed, ""))));
  EXPECT_EQ(to_json(read(log_with(printed, "", other))), to_json(read(log_with(printed, ""))));
}

TEST(PrintedConfiguration, MayFollowTextOnItsLine) {
  EXPECT_EQ(find_setting(read("{'actor_rollout_ref': {'n': ('a ' 'b'), 'm': ('a',)}}"), "actor_rollout_ref.n")->text,
            "a b");
  EXPECT_EQ(find_setting(read("config: {'actor_rollout_ref': {'n': 3}} and more\n"), "actor_rollout_ref.n")->text, "3");
  EXPECT_EQ(
      find_setting(read("{'a': [{'b': 1},\n       {'c': 2}],\n 'actor_rollout_ref': {'n': 3}}\n"), "a[1].c")->text,
      "2");
}

TEST(PrintedConfiguration, EqualsTheRunOfTheScript) {
  const ImportedText script = imported_text(script_of(grpo_fsdp));
  const std::string log = log_with(printed, ray, other);
  EXPECT_TRUE(is_foreign("run.log", log));
  const auto import = import_run("run.log", log, {});
  ASSERT_TRUE(import.ok()) << base::to_text(import.error());
  EXPECT_EQ(import->text, script.job);
  EXPECT_EQ(plan_text(*import), script.plan);
  EXPECT_EQ(reading_text(*import),
            "run.log is read as a configuration of verl: the log contains its configuration, from line 3");
}

TEST(PrintedConfiguration, ModelsInTheHubCacheKeepTheirName) {
  std::vector<std::string> lines = printed;
  for (std::string& line : lines)
    if (const std::size_t at = line.find("Qwen/Qwen3-8B"); at != std::string::npos)
      line.replace(at, 13, "/hub/models--Qwen--Qwen3-8B/snapshots/f2826a00ceef68f0f2b946d945ecc0477ce4450c");
  const auto import = import_run("run.log", log_with(lines, ray), {});
  ASSERT_TRUE(import.ok()) << base::to_text(import.error());
  EXPECT_EQ(import->text, imported_text(script_of(grpo_fsdp)).job);
}

TEST(PrintedConfiguration, InvalidSettingsAreErrorsWithALine) {
  std::vector<std::string> lines = printed;
  lines[6] = "                                 'ppo_mini_batch_size': 0,";
  const auto import = import_run("run.log", log_with(lines, ray), {});
  ASSERT_FALSE(import.ok());
  EXPECT_THAT(base::to_text(import.error()), HasSubstr("run.log:9:"));
  EXPECT_THAT(base::to_text(import.error()), HasSubstr("ppo_mini_batch_size"));
}

/// A configuration that lacks a bracket, quote, colon, line or its end is never read as complete.
RC_GTEST_PROP(PrintedConfiguration, DamageIsAnErrorWithItsPlace, ()) {
  std::vector<std::string> lines = printed;
  const auto kind = *rc::gen::inRange(0, 3);
  const auto at = *rc::gen::inRange<std::size_t>(0, lines.size());
  if (kind == 0) {
    std::vector<std::size_t> marks;
    for (std::size_t i = 0; i < lines[at].size(); ++i)
      if (std::string_view("{}[]:'").find(lines[at][i]) != std::string_view::npos &&
          lines[at].find('%') == std::string::npos && lines[at].find("it's") == std::string::npos)
        marks.push_back(i);
    RC_PRE(!marks.empty());
    // Without the quote or colon of the identifying key, the log has no configuration.
    const std::size_t mark = *rc::gen::elementOf(marks);
    RC_PRE(at != 0 || mark > lines[0].find("{'actor'"));
    lines[at].erase(mark, 1);
  } else if (kind == 1) {
    // If the missing line only sets another value, the rest is complete.
    const std::vector<std::size_t> needed{0, 1, 9, 10, 12, 13, 15, 17};
    const std::size_t lost = *rc::gen::elementOf(needed);
    RC_PRE(lost != 0);
    lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(lost));
  } else {
    lines.resize(at);
    RC_PRE(!lines.empty());
  }
  const std::string log = log_with(lines, ray);
  const auto read = read_printed_configuration(log, "run.log", "actor_rollout_ref");
  RC_LOG() << log;
  RC_ASSERT(!read.ok());
  RC_ASSERT(read.error().path == "run.log");
  RC_ASSERT(read.error().line >= 3);
  RC_ASSERT(read.error().column > 0);
}

TEST(LoggedCommand, EqualsTheRunOfTheScript) {
  const ImportedText script = imported_text(script_of(grpo_fsdp));
  std::string traced = "job started\n+ export X=1\n++ nproc\n+ python3 -m verl.trainer.main_ppo";
  for (const std::string& override : grpo_fsdp) traced += " '" + override + "'";
  traced += "\nWARNING: it's late\nstep:1 - timing_s/gen:1.5 - timing_s/step:4\n";
  std::string written = "```\n# mine\nMODEL=Qwen/Qwen3-8B #default\nTP=2\n\nDon't\npython3 -m verl.trainer.main_ppo";
  for (const std::string& override : grpo_fsdp)
    written +=
        " \\\n    " + (override.find("Qwen") == std::string::npos ? override : "actor_rollout_ref.model.path=$MODEL");
  written += "\n```\nDon't (or do\nstep:1 - timing_s/gen:1.5 - timing_s/step:4\n";
  for (const std::string& log : {traced, written}) {
    EXPECT_TRUE(is_foreign("run.log", log));
    const auto import = import_run("run.log", log, {});
    ASSERT_TRUE(import.ok()) << base::to_text(import.error());
    EXPECT_EQ(import->text, script.job);
    EXPECT_EQ(plan_text(*import), script.plan);
  }
  EXPECT_THAT(
      reading_text(*import_run("run.log", traced, {})),
      HasSubstr("the log contains the command that started the run: it starts verl.trainer.main_ppo on line 4"));
  EXPECT_THAT(findings_text(*import_run("run.log", written, {}), import_run("run.log", written, {})->run.assumed),
              HasSubstr("is ignored, except for variables that it sets (run.log:7)"));
}

TEST(LoggedCommand, OtherLinesAreNotCommands) {
  for (const char* log : {"step:1 - timing_s/gen:1\n", "File \"verl/trainer/main_ppo.py\", line 3\n",
                          "python3 -m other.trainer a=1\n", "see python3 -m verl.trainer.main_ppo\n", ""})
    EXPECT_FALSE(is_foreign("run.log", log)) << log;
}

}  // namespace
}  // namespace dovetail::trainers
