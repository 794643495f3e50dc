#include "trainers/export/word_edit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "syntax/shell/run.h"

namespace dovetail::trainers {
namespace {

using syntax::Flag;
using syntax::FlagKind;

using testing::HasSubstr;

constexpr std::array flags{Flag{"--awake", FlagKind::either},
                           Flag{"--engines", FlagKind::integer, "1", {}, "--old_engines|--older_engines"},
                           Flag{"--sleep", FlagKind::on}, Flag{"--share", FlagKind::number, "0.9"}};

/// Returns the script with the changes, or the error. If `overrides` is set, the words are Hydra overrides.
std::string edited(const std::string& script, const std::vector<Change>& changes, bool overrides = false) {
  const syntax::ScriptRequest request{.path = "run.sh",
                                      .content = script,
                                      .directory = "",
                                      .environment = {},
                                      .arguments = {},
                                      .read = [](const std::string& path) -> base::Result<std::string> {
                                        if (path == "more.sh") return std::string("MORE=(--engines 3)\n");
                                        return base::bad_input("there is no " + path);
                                      }};
  base::Result<syntax::ScriptOutcome> outcome = syntax::evaluate_script(request);
  EXPECT_TRUE(outcome.ok());
  const auto is_trainer = [](const syntax::EntryPoint& entry) { return entry.name == "train.py"; };
  const auto launches = syntax::find_launches(*outcome, request, is_trainer);
  EXPECT_TRUE(launches.ok());
  const auto launch = syntax::only_launch(*outcome, *launches);
  EXPECT_TRUE(launch.ok());
  const auto text = overrides ? edit_overrides(script, *launch, changes, outcome->sources)
                              : edit_flags(script, *launch, flags, changes, outcome->sources);
  return text.ok() ? *text : base::to_text(text.error());
}

const Change four_engines{.set = {"--engines", "4"}};
const Change sleeps{.set = {"--sleep", ""}};
const Change wakes{.set = {"--sleep", ""}, .with = {}, .removes = true};

TEST(EditFlags, ChangesValuesInPlace) {
  EXPECT_EQ(edited("python train.py --engines 2 --share 0.5  # why\n", {four_engines}),
            "python train.py --engines 4 --share 0.5  # why\n");
  EXPECT_EQ(edited("N=2\npython train.py --engines \"$N\"\n", {four_engines}), "N=2\npython train.py --engines 4\n");
  EXPECT_EQ(edited("python train.py --older_engines=2 --sleep\n", {four_engines}),
            "python train.py --older_engines=4 --sleep\n");
  EXPECT_EQ(edited("python train.py --engines 1 --engines 2\n", {four_engines}),
            "python train.py --engines 1 --engines 4\n");
}

TEST(EditFlags, ChangesValuesInArrays) {
  EXPECT_EQ(
      edited("ARGS=(\n  --engines 2  # of four\n  --sleep\n)\npython train.py \"${ARGS[@]}\"\n", {four_engines, wakes}),
      "ARGS=(\n  --engines 4  # of four\n)\npython train.py \"${ARGS[@]}\"\n");
}

TEST(EditFlags, RemovesFlagsWithTheirLine) {
  EXPECT_EQ(edited("python train.py \\\n   --engines 2 \\\n   --sleep \\\n   --share 0.5\n", {wakes}),
            "python train.py \\\n   --engines 2 \\\n   --share 0.5\n");
  EXPECT_EQ(edited("python train.py --sleep --share 0.5\n", {wakes}), "python train.py --share 0.5\n");
  EXPECT_EQ(edited("python train.py --share 0.5\n", {wakes}), "python train.py --share 0.5\n");
  EXPECT_EQ(edited("A=(\n   --sleep --share 0.5\n)\npython train.py ${A[@]}\n", {wakes}),
            "A=(\n   --share 0.5\n)\npython train.py ${A[@]}\n");
}

TEST(EditFlags, AddsNewFlagsAfterTheLastWord) {
  EXPECT_EQ(edited("python train.py --share 0.5\necho done\n", {four_engines, sleeps}),
            "python train.py --share 0.5 \\\n   --engines 4 \\\n   --sleep\necho done\n");
  EXPECT_EQ(edited("python train.py --sleep \"$@\"\n", {four_engines}),
            "python train.py --sleep \\\n   --engines 4 \"$@\"\n");
}

TEST(EditFlags, RemovesValuesWithTheirFlags) {
  const Change freed{.set = {"--engines", ""}, .with = {}, .removes = true};
  EXPECT_EQ(edited("python train.py \\\n   --engines 2 \\\n   --sleep\n", {freed}), "python train.py \\\n   --sleep\n");
  EXPECT_EQ(edited("python train.py --engines=2 --sleep --old_engines 3\n", {freed}), "python train.py --sleep\n");
}

TEST(EditFlags, TurnsSwitchesOnAndOff) {
  const Change off{.set = {"--no-awake", ""}};
  const Change on{.set = {"--awake", ""}};
  EXPECT_EQ(edited("python train.py --awake --sleep\n", {off}), "python train.py --no-awake --sleep\n");
  EXPECT_EQ(edited("python train.py --no-awake\n", {on}), "python train.py --awake\n");
  EXPECT_EQ(edited("python train.py --awake\n", {on}), "python train.py --awake\n");
  EXPECT_EQ(edited("python train.py --sleep\n", {off}), "python train.py --sleep \\\n   --no-awake\n");
}

TEST(EditFlags, AddsNewFlagsToTheLastArrayAndAfterVariables) {
  EXPECT_EQ(edited("ARGS=(\n  --sleep  # soon\n)\npython train.py ${ARGS[@]}\n", {four_engines}),
            "ARGS=(\n  --sleep\n   --engines 4  # soon\n)\npython train.py ${ARGS[@]}\n");
  EXPECT_EQ(edited("ARGS=\"--engines 2 --sleep\"\npython train.py $ARGS --share 0.5\n", {four_engines}),
            "ARGS=\"--engines 2 --sleep\"\npython train.py $ARGS --share 0.5 \\\n   --engines 4\n");
  EXPECT_THAT(
      edited("ARGS=\"--engines 2 --sleep\"\npython train.py $ARGS\n", {wakes}),
      HasSubstr("--sleep comes from a variable, or a quoted string that holds several arguments; accepted: a script "
                "that spells out the argument in its command or in an array"));
}

TEST(EditFlags, RejectsFlagsOfAnotherFile) {
  EXPECT_THAT(edited("source more.sh\npython train.py \"${MORE[@]}\"\n", {four_engines}),
              HasSubstr("--engines comes from another file that the script reads; accepted: a script that spells out"));
}

TEST(EditFlags, KeepsTheEndOfTheCommand) {
  EXPECT_EQ(edited("python train.py --engines 2 \\\n   --sleep\nwait\n", {wakes}),
            "python train.py --engines 2 \\\n   \nwait\n");
  EXPECT_EQ(edited("python train.py \\\n   --engines 2 \\\n   --sleep\n", {wakes, {.set = {"--share", "0.5"}}}),
            "python train.py \\\n   --engines 2 \\\n   --share 0.5 \\\n   \n");
}

TEST(EditFlags, RemovesAFlagOnlyOnce) {
  EXPECT_EQ(edited("python train.py --sleep --engines 2\n", {wakes, wakes}), "python train.py --engines 2\n");
}

std::string overridden(const std::string& script, const std::vector<Change>& changes) {
  return edited(script, changes, true);
}

TEST(EditOverrides, ChangesAndRemovesInPlaceInAnyForm) {
  EXPECT_EQ(overridden("python train.py a.b=1 c=2\n", {{.set = {"a.b", "4"}}}), "python train.py a.b=4 c=2\n");
  EXPECT_EQ(overridden("python train.py \\\n  +a.b=1 \\\n  c=2\n", {{.set = {"e", "5"}, .without = {"a.b"}}}),
            "python train.py \\\n  c=2 \\\n   e=5\n");
  EXPECT_EQ(overridden("python train.py 'a.b=1' \"c=$X\" d=3\n", {{.set = {"e", "5"}, .without = {"a.b", "c"}}}),
            "python train.py d=3 \\\n   e=5\n");
  EXPECT_EQ(
      overridden("python train.py --config-name x.yaml d=3\n", {{.set = {"d", "4"}, .without = {"--config-name"}}}),
      "python train.py d=4\n");
  EXPECT_EQ(
      overridden("A=(\n  a.b=1\n  c=2\n)\npython train.py \"${A[@]}\"\n", {{.set = {"c", "4"}, .without = {"a.b"}}}),
      "A=(\n  c=4\n)\npython train.py \"${A[@]}\"\n");
}

TEST(EditOverrides, FindsTheEndOfWordsWithSubstitutions) {
  const Change change{.set = {"e", "5"}, .without = {"a.b"}};
  for (const std::string word : {"a.b=`echo 8`", "a.b=$(echo 8)", "a.b=\"$(basename \"/x y/z\")\"",
                                 "a.b=\"${N:-\"1 2\"}\"", "a.b=\"1 (2\"", "a.b='1 \"2'", "a.b=1\\ 2", "a.b=\"it's 1\""})
    EXPECT_EQ(overridden("python train.py " + word + " c=2\n", {change}), "python train.py c=2 \\\n   e=5\n") << word;
  EXPECT_EQ(overridden("python train.py c=2 d=`basename /x/y`\n", {{.set = {"e", "5"}}}),
            "python train.py c=2 d=`basename /x/y` \\\n   e=5\n");
}

}  // namespace
}  // namespace dovetail::trainers
