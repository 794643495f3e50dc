#include "records/training_phases.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/file.h"
#include "pipeline/schedule/evaluate.h"
#include "support/random_schedule.h"
#include "support/temporary_folder.h"
#include "support/two_models.h"
#include "timeline/schedule_timeline.h"

namespace dovetail::records {
namespace {

TrainingPhase phase_named(const std::string& name) {
  const pipeline::Problem problem = test::two_models(2, 4);
  TrainingPhase phase{name, test::random_schedule(problem, 1), test::random_schedule(problem, 2), {}};
  phase.trace = timeline::schedule_timeline(problem, pipeline::evaluate(phase.measured), "trace");
  return phase;
}

TEST(TrainingPhases, RoundTrip) {
  const test::TemporaryFolder folder;
  const std::vector<TrainingPhase> written{phase_named("actor_train+critic_train"), phase_named("reward_train")};
  ASSERT_TRUE(write_training_phases(folder.path(), written).ok());
  const auto read = read_training_phases(folder.path());
  ASSERT_TRUE(read.ok()) << read.error().message;
  ASSERT_EQ(read->size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ((*read)[i].name, written[i].name);
    EXPECT_EQ((*read)[i].planned, written[i].planned);
    EXPECT_EQ((*read)[i].measured, written[i].measured);
    EXPECT_EQ((*read)[i].trace.end, written[i].trace.end);
    EXPECT_EQ((*read)[i].trace.lanes.size(), 2U);
  }
}

TEST(TrainingPhases, EarlierPhasesAreRemoved) {
  const test::TemporaryFolder folder;
  ASSERT_TRUE(write_training_phases(folder.path(), {phase_named("actor_train")}).ok());
  ASSERT_TRUE(write_training_phases(folder.path(), {phase_named("critic_train")}).ok());
  ASSERT_EQ(read_training_phases(folder.path())->size(), 1U);
  EXPECT_EQ(read_training_phases(folder.path())->front().name, "critic_train");
  ASSERT_TRUE(remove_training_phases(folder.path()).ok());
  EXPECT_EQ(folder.size(), 0U);
  EXPECT_TRUE(read_training_phases(folder.path())->empty());
}

TEST(TrainingPhases, InvalidFilesAreRejectedWithPosition) {
  const test::TemporaryFolder folder;
  ASSERT_TRUE(write_training_phases(folder.path(), {phase_named("actor_train")}).ok());
  const std::string path = folder.file("training/actor_train.measured.json");
  std::string content = test::content_of(path);
  content.resize(content.size() / 2);
  ASSERT_TRUE(base::write_file(path, content).ok());
  const auto rejected = read_training_phases(folder.path());
  ASSERT_FALSE(rejected.ok());
  EXPECT_EQ(rejected.error().path, path);
  std::filesystem::remove(path);
  EXPECT_EQ(read_training_phases(folder.path()).error().failure, base::Failure::io);
}

TEST(TrainingPhases, InvalidSchedulesAreRejected) {
  const test::TemporaryFolder folder;
  TrainingPhase phase = phase_named("actor_train");
  phase.planned.claims = {};
  phase.planned.devices[0].pop_back();
  ASSERT_TRUE(write_training_phases(folder.path(), {phase}).ok());
  const auto rejected = read_training_phases(folder.path());
  ASSERT_FALSE(rejected.ok());
  EXPECT_EQ(rejected.error().failure, base::Failure::invalid);
  EXPECT_EQ(rejected.error().path, folder.file("training/actor_train.schedule.json"));
}

}  // namespace
}  // namespace dovetail::records
