#include "records/checkpoints.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <thread>

#include "base/random.h"
#include "records/checkpoint_manifest.h"
#include "records/saved_models.h"
#include "support/temporary_folder.h"

namespace dovetail::records {
namespace {

namespace fs = std::filesystem;
using test::content_of;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::UnorderedElementsAre;

const std::string this_run(64, 'a');
const std::string other_run(64, 'b');

class Checkpoints : public testing::Test {
 protected:
  CheckpointPlace place(std::int64_t keep = 2) const { return {folder.path() + "/checkpoints", this_run, keep}; }

  /// Keeps one of that iteration, whose models have the iteration as their version.
  void keep(int iteration, bool is_best = false, std::int64_t kept = 2) const {
    SavedModels models;
    models.version = iteration;
    control::RunState state;
    state.iterations = iteration;
    const base::Status status = keep_checkpoint(place(kept), state, models, is_best);
    ASSERT_TRUE(status.ok()) << to_text(status.error());
  }

  std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const auto& entry : fs::directory_iterator(place().folder)) found.push_back(entry.path().filename());
    return found;
  }

  /// The iteration of the newest, 0 where there is none; its models are those of its state.
  std::int64_t open() {
    const auto opened = open_newest(place(), [this](const std::string& text) { warnings.push_back(text); });
    EXPECT_TRUE(opened.ok()) << to_text(opened.error());
    if (!opened.ok() || !*opened) return 0;
    const auto iteration = static_cast<int>((**opened).state.iterations);
    EXPECT_EQ(content_of((**opened).folder + "/actor.state"), SavedModels::content("actor", iteration));
    EXPECT_EQ(content_of((**opened).folder + "/critic.state"), SavedModels::content("critic", iteration));
    return iteration;
  }

  std::string path(const std::string& name) const { return place().folder + "/" + name; }
  void write(const std::string& name, const std::string& content) const {
    folder.write("checkpoints/" + name, content);
  }

  test::TemporaryFolder folder;
  std::vector<std::string> warnings;
};

TEST_F(Checkpoints, NoneIsNone) { EXPECT_EQ(open(), 0); }

TEST_F(Checkpoints, TheNewestIsOpenedWithItsState) {
  keep(20);
  keep(40);
  EXPECT_EQ(open(), 40);
  EXPECT_THAT(names(), UnorderedElementsAre("iteration-000020", "iteration-000040"));
  EXPECT_THAT(warnings, IsEmpty());
}

TEST_F(Checkpoints, TheStateComesBackWhole) {
  control::RunState state;
  state.iterations = 7;
  state.tasks_done = 2;
  state.best = 0.1;
  state.scales.kl_coefficient = 1.0 / 3;
  state.samples.resize(3);
  state.samples[1].sequence = {{1, 2, 3}, 1};
  state.samples[1].sampled = {-0.1, -0.7};
  ASSERT_TRUE(keep_checkpoint(place(), state, SavedModels(), false).ok());
  const auto opened = open_newest(place(), [](const std::string&) { FAIL(); });
  ASSERT_TRUE(opened.ok() && opened->has_value());
  EXPECT_EQ(control::state_to_json((**opened).state), control::state_to_json(state));
  EXPECT_EQ((**opened).folder, path("iteration-000007-part-1"));
}

TEST_F(Checkpoints, TheLastOnesAreKept) {
  for (const int iteration : {1, 2, 3, 4, 5}) keep(iteration, false, 3);
  EXPECT_THAT(names(), UnorderedElementsAre("iteration-000003", "iteration-000004", "iteration-000005"));
}

TEST_F(Checkpoints, TheBestIsKeptBesideThem) {
  keep(1, true);
  EXPECT_EQ(best_of(place()), path("iteration-000001"));
  for (const int iteration : {2, 3, 4}) keep(iteration);
  EXPECT_THAT(names(), UnorderedElementsAre("iteration-000001", "iteration-000003", "iteration-000004"));
  EXPECT_EQ(best_of(place()), path("iteration-000001"));
  keep(5, true);
  keep(6);
  EXPECT_THAT(names(), UnorderedElementsAre("iteration-000005", "iteration-000006"));
  EXPECT_EQ(best_of(place()), path("iteration-000005"));
}

TEST_F(Checkpoints, WithoutABestOneThereIsNone) {
  EXPECT_EQ(best_of(place()), "");
  keep(1);
  EXPECT_EQ(best_of(place()), "");
}

TEST_F(Checkpoints, InsideAnIterationTheyFollowItsBegin) {
  keep(9);
  control::RunState state;
  state.iterations = 9;
  SavedModels models;
  models.version = 9;
  for (const std::size_t tasks : {1U, 1U, 2U}) {
    state.tasks_done = tasks;
    ASSERT_TRUE(keep_checkpoint(place(9), state, models, false).ok());
  }
  state.tasks_done = 0;
  state.mini_batches_done = 1;
  ASSERT_TRUE(keep_checkpoint(place(9), state, models, false).ok());
  EXPECT_THAT(names(), UnorderedElementsAre("iteration-000009", "iteration-000009-part-1", "iteration-000009-part-2",
                                            "iteration-000009-part-3", "iteration-000009-part-4"));
  const auto opened = open_newest(place(), [](const std::string&) { FAIL(); });
  EXPECT_EQ((**opened).folder, path("iteration-000009-part-4"));
  keep(10, false, 9);
  EXPECT_EQ(open(), 10);
}

TEST_F(Checkpoints, WithoutSamplesTheyMayLieInsideAnIterationToo) {
  control::RunState state;
  state.iterations = 9;
  state.mini_batches_done = 1;
  ASSERT_TRUE(keep_checkpoint(place(), state, SavedModels(), false).ok());
  EXPECT_THAT(names(), ElementsAre("iteration-000009-part-1"));
}

TEST_F(Checkpoints, AreOrderedByNumberNotByName) {
  keep(999'999);
  keep(1'000'000);
  EXPECT_EQ(open(), 1'000'000);
}

TEST_F(Checkpoints, ADamagedByteIsFoundAndTheOneBeforeTaken) {
  for (const std::string file : {"actor.state", "critic.state", "state.json", "manifest.json"}) {
    const std::size_t bytes = [&] {
      keep(20);
      keep(40);
      return content_of(path("iteration-000040/" + file)).size();
    }();
    for (const std::size_t place_of_damage : {std::size_t{0}, bytes / 2, bytes - 2}) {
      std::string content = content_of(path("iteration-000040/" + file));
      content[place_of_damage] = static_cast<char>(content[place_of_damage] ^ 1);
      write("iteration-000040/" + file, content);
      warnings.clear();
      EXPECT_EQ(open(), 20);
      ASSERT_EQ(warnings.size(), 1U) << file << place_of_damage;
      EXPECT_THAT(warnings[0], HasSubstr(path("iteration-000040/" + file)));
      EXPECT_THAT(warnings[0], HasSubstr("the run goes on from iteration-000020"));
      EXPECT_THAT(names(), UnorderedElementsAre("iteration-000020", "damaged-iteration-000040"));
      keep(40);
    }
    fs::remove_all(place().folder);
  }
}

TEST_F(Checkpoints, AMissingOrShortFileIsFound) {
  keep(1);
  for (const std::string file : {"actor.state", "critic.state", "state.json", "manifest.json"}) {
    keep(2);
    fs::remove(path("iteration-000002/" + file));
    EXPECT_EQ(open(), 1);
    EXPECT_THAT(warnings.back(), HasSubstr(file + ": cannot be read"));
    keep(3);
    fs::resize_file(path("iteration-000003/" + file), 50);
    EXPECT_EQ(open(), 1);
    EXPECT_THAT(warnings.back(), HasSubstr("iteration-000003/" + file));
  }
  EXPECT_EQ(warnings.size(), 8U);
}

TEST_F(Checkpoints, ADamagedOneNeitherCountsNorComesBack) {
  keep(10);
  keep(30);
  write("iteration-000030/actor.state", "nonsense");
  EXPECT_EQ(open(), 10);
  keep(20, false, 1);
  EXPECT_EQ(open(), 20);
  EXPECT_THAT(names(), UnorderedElementsAre("iteration-000020", "damaged-iteration-000030"));
  EXPECT_EQ(warnings.size(), 1U);
}

TEST_F(Checkpoints, WhereAllAreDamagedNothingIsTouched) {
  keep(1);
  keep(2);
  write("iteration-000001/state.json", "{}");
  write("iteration-000002/manifest.json", "{");
  const auto opened = open_newest(place(), [](const std::string&) { FAIL(); });
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().failure, base::Failure::io);
  EXPECT_EQ(opened.error().path, place().folder);
  EXPECT_THAT(opened.error().message, HasSubstr("no checkpoint can be read; of the newest, iteration-000002: "));
  EXPECT_THAT(opened.error().message, HasSubstr("manifest.json:1:2"));
  EXPECT_THAT(names(), UnorderedElementsAre("iteration-000001", "iteration-000002"));
}

TEST_F(Checkpoints, ThoseOfAnotherRunAreRefused) {
  keep(1);
  CheckpointPlace other = place();
  other.run_hash = other_run;
  const auto opened = open_newest(other, [](const std::string&) { FAIL(); });
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().failure, base::Failure::bad_input);
  EXPECT_EQ(opened.error().path, path("iteration-000001/manifest.json"));
  EXPECT_THAT(opened.error().message, HasSubstr("has changed since this checkpoint"));
  EXPECT_EQ(open(), 1);
}

TEST_F(Checkpoints, WhatAnEndedProgramLeftIsDeleted) {
  keep(1);
  keep(2);
  fs::copy(path("iteration-000002"), path(".unfinished-iteration-000003"));
  fs::create_directory(path(".unfinished-iteration-000004"));
  fs::rename(path("iteration-000001"), path(".unfinished-iteration-000001"));
  fs::remove(path(".unfinished-iteration-000001/state.json"));
  EXPECT_EQ(open(), 2);
  EXPECT_THAT(names(), ElementsAre("iteration-000002"));
  EXPECT_THAT(warnings, IsEmpty());
}

TEST_F(Checkpoints, OtherFilesAreLeftAlone) {
  keep(1);
  for (const std::string name : {"iteration-", "iteration-x", "iteration-000002-part-", "iteration--1", "notes"})
    write(name, "");
  EXPECT_EQ(open(), 1);
  EXPECT_EQ(names().size(), 6U);
}

TEST_F(Checkpoints, WhatModelsCannotSaveLeavesNothing) {
  keep(1);
  SavedModels models;
  models.failure = base::Error{base::Failure::io, "x", 0, 0, "no memory"};
  control::RunState state;
  state.iterations = 2;
  const base::Status status = keep_checkpoint(place(), state, models, false);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(to_text(status.error()), "x: no memory");
  EXPECT_THAT(names(), ElementsAre("iteration-000001"));
}

TEST_F(Checkpoints, AFullDiskLeavesTheOnesBefore) {
  keep(1);
  control::RunState state;
  state.iterations = 2;
  SavedModels models;
  models.size = 5'000;
  // The models' files, the state (larger than the models), and the manifest have no room in turn.
  for (const rlim_t room : {rlim_t{100}, rlim_t{4'999}, rlim_t{5'100}}) {
    state.samples.resize(room > 5'000 ? 100 : 0);
    const base::Status status = [&] {
      const FullDisk full(room);
      return keep_checkpoint(place(), state, models, false);
    }();
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().failure, base::Failure::io);
    EXPECT_THAT(status.error().path, HasSubstr(room > 5'000 ? "/state.json" : "/actor.state"));
    EXPECT_THAT(names(), ElementsAre("iteration-000001"));
  }
  EXPECT_EQ(open(), 1);
}

TEST_F(Checkpoints, AFolderThatCannotBeMadeIsAnError) {
  folder.write("checkpoints", "a file");
  const base::Status status = keep_checkpoint(place(), {}, SavedModels(), false);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().failure, base::Failure::io);
  EXPECT_THAT(status.error().path, HasSubstr("checkpoints/.unfinished-iteration-000000"));
}

/// Keeps one after the other from `first` on, until it is killed.
[[noreturn]] void keep_until_killed(const CheckpointPlace& place, int first) {
  for (int iteration = first;; ++iteration) {
    SavedModels models;
    models.version = iteration;
    control::RunState state;
    state.iterations = iteration;
    if (!keep_checkpoint(place, state, models, iteration % 3 == 0).ok()) ::_exit(1);
  }
}

TEST_F(Checkpoints, AProgramMayBeKilledAtAnyMoment) {
  base::Random random(1, 0);
  std::int64_t newest = 0;
  std::uint32_t microseconds = 10'000;
  for (int kill = 0; kill < 15; ++kill) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) keep_until_killed(place(), static_cast<int>(newest) + 1);
    std::this_thread::sleep_for(std::chrono::microseconds(random.below(microseconds)));
    ::kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << "it ended by itself";
    const std::int64_t found = open();
    EXPECT_GE(found, newest);
    // On a slow disk, longer.
    if (found == newest) microseconds *= 2;
    newest = found;
    EXPECT_THAT(warnings, IsEmpty());
    EXPECT_EQ(best_of(place()).empty(), newest < 3);
  }
  EXPECT_GT(newest, 0);
  keep(static_cast<int>(newest) + 1);
  EXPECT_EQ(open(), newest + 1);
  EXPECT_LE(names().size(), 3U);
}

}  // namespace
}  // namespace dovetail::records
