#include "records/checkpoints.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <thread>

#include "base/hash.h"
#include "base/random.h"
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

  /// Keeps a checkpoint of that iteration, whose models have the iteration as their version.
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

  /// Opens the newest and returns its iteration, or 0 without one. Expects its models to match its state.
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

TEST_F(Checkpoints, AnEmptyFolderHasNone) { EXPECT_EQ(open(), 0); }

TEST_F(Checkpoints, TheNewestIsOpenedWithItsState) {
  keep(20);
  keep(40);
  EXPECT_EQ(open(), 40);
  EXPECT_THAT(names(), UnorderedElementsAre("iteration-000020", "iteration-000040"));
  EXPECT_THAT(warnings, IsEmpty());
}

TEST_F(Checkpoints, TheStateRoundTrips) {
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

TEST_F(Checkpoints, TheBestIsKeptToo) {
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

TEST_F(Checkpoints, InsideAnIterationTheyFollowItsBeginning) {
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

TEST_F(Checkpoints, MayBeInsideAnIterationWithoutSamples) {
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

TEST_F(Checkpoints, ADamagedByteIsFoundAndThePreviousOneIsUsed) {
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
      EXPECT_THAT(warnings[0], HasSubstr("the run resumes from iteration-000020"));
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

TEST_F(Checkpoints, ADamagedOneDoesNotCount) {
  keep(10);
  keep(30);
  write("iteration-000030/actor.state", "nonsense");
  EXPECT_EQ(open(), 10);
  keep(20, false, 1);
  EXPECT_EQ(open(), 20);
  EXPECT_THAT(names(), UnorderedElementsAre("iteration-000020", "damaged-iteration-000030"));
  EXPECT_EQ(warnings.size(), 1U);
}

TEST_F(Checkpoints, IfAllAreDamagedNothingChanges) {
  keep(1);
  keep(2);
  write("iteration-000001/state.json", "{}");
  write("iteration-000002/manifest.json", "{");
  const auto opened = open_newest(place(), [](const std::string&) { FAIL(); });
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().failure, base::Failure::io);
  EXPECT_EQ(opened.error().path, place().folder);
  EXPECT_THAT(opened.error().message, HasSubstr("no checkpoint can be read; the newest is iteration-000002: "));
  EXPECT_THAT(opened.error().message, HasSubstr("manifest.json:1:2"));
  EXPECT_THAT(names(), UnorderedElementsAre("iteration-000001", "iteration-000002"));
}

TEST_F(Checkpoints, CheckpointsOfAnotherRunAreRejected) {
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

TEST_F(Checkpoints, RemainsOfAKilledProgramAreDeleted) {
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

TEST_F(Checkpoints, AFailedSaveLeavesNothing) {
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

TEST_F(Checkpoints, AFullDiskKeepsEarlierOnes) {
  keep(1);
  control::RunState state;
  state.iterations = 2;
  SavedModels models;
  models.size = 5'000;
  // The limit is too small for the model files, the state (larger than the models) and the manifest in turn.
  for (const rlim_t limit : {rlim_t{100}, rlim_t{4'999}, rlim_t{5'100}}) {
    state.samples.resize(limit > 5'000 ? 100 : 0);
    const base::Status status = [&] {
      const FullDisk full(limit);
      return keep_checkpoint(place(), state, models, false);
    }();
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().failure, base::Failure::io);
    EXPECT_THAT(status.error().path, HasSubstr(limit > 5'000 ? "/state.json" : "/actor.state"));
    EXPECT_THAT(names(), ElementsAre("iteration-000001"));
  }
  EXPECT_EQ(open(), 1);
}

TEST_F(Checkpoints, AFolderThatCannotBeCreatedIsAnError) {
  folder.write("checkpoints", "a file");
  const base::Status status = keep_checkpoint(place(), {}, SavedModels(), false);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().failure, base::Failure::io);
  EXPECT_THAT(status.error().path, HasSubstr("checkpoints/.unfinished-iteration-000000"));
}

/// Keeps one checkpoint after another from `first` on, until it is killed.
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
    ASSERT_TRUE(WIFSIGNALED(status)) << "it was not killed";
    const std::int64_t found = open();
    EXPECT_GE(found, newest);
    // Waits longer on a slow disk.
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

Manifest example() {
  return {std::string(64, 'a'),
          20,
          true,
          {{"actor.state", 12, std::string(64, '1')}, {"state.json", 3, std::string(64, '2')}}};
}

std::string text_with(std::string text, const std::string& from, const std::string& to) {
  const std::size_t place = text.find(from);
  EXPECT_NE(place, std::string::npos);
  return text.replace(place, from.size(), to);
}

/// Returns a text with the hash of its other members.
std::string hashed(const std::string& members) {
  const std::string hash = base::sha256_hex(base::canonical_json("{" + members + "}"));
  return "{" + members + ", \"hash\": \"" + hash + "\"}";
}

TEST(CheckpointManifest, RoundTrips) {
  const std::string text = manifest_to_json(example());
  const auto manifest = parse_manifest(text, "m");
  ASSERT_TRUE(manifest.ok()) << to_text(manifest.error());
  EXPECT_EQ(*manifest, example());
}

// The Python test of the schema reads the same text.
TEST(CheckpointManifest, HasThisText) {
  EXPECT_EQ(
      manifest_to_json(example()),
      R"({"format": "dovetail/checkpoint@1", "hash": "83f90aeb99d15d8ca64ea5dd3c869105d868d611cff94b75f6dcf7397475b7ad", )"
      R"("run": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "iteration": 20, "best": true, )"
      R"("files": [
  {"name": "actor.state", "bytes": 12, "sha256": "1111111111111111111111111111111111111111111111111111111111111111"},
  {"name": "state.json", "bytes": 3, "sha256": "2222222222222222222222222222222222222222222222222222222222222222"}]}
)");
}

TEST(CheckpointManifest, AnyChangedByteIsFound) {
  const std::string text = manifest_to_json(example());
  for (std::size_t i = 0; i < text.size(); ++i)
    for (const char flip : {'\x01', '\x02', '\x10', '\x40'}) {
      std::string damaged = text;
      damaged[i] = static_cast<char>(damaged[i] ^ flip);
      const auto manifest = parse_manifest(damaged, "m");
      // White space has no meaning.
      EXPECT_TRUE(!manifest.ok() || *manifest == example()) << i << " " << damaged;
    }
  for (std::size_t length = 0; length + 1 < text.size(); ++length)
    EXPECT_FALSE(parse_manifest(std::string_view(text).substr(0, length), "m").ok()) << length;
}

TEST(CheckpointManifest, ReportsErrorsWithPosition) {
  const std::string hash(64, 'a');
  const auto error_of = [](const std::string& text) { return to_text(parse_manifest(text, "m").error()); };
  EXPECT_THAT(error_of("{}"), HasSubstr("m:1:1"));
  EXPECT_THAT(error_of(R"({"format": "dovetail/plan@1"})"), HasSubstr("dovetail/checkpoint@1"));
  const std::string text = manifest_to_json(example());
  EXPECT_THAT(error_of(text_with(text, "20", "21")), HasSubstr("the manifest is damaged"));
  EXPECT_THAT(error_of(text_with(text, "\"best\"", "\"bets\"")), HasSubstr("bets"));
  const auto member_error = [&](const std::string& run, const std::string& iteration, const std::string& best,
                                const std::string& files) {
    return error_of(hashed(R"("format": "dovetail/checkpoint@1", "run": )" + run + R"(, "iteration": )" + iteration +
                           R"(, "best": )" + best + R"(, "files": )" + files));
  };
  const std::string run = "\"" + hash + "\"";
  EXPECT_THAT(member_error("[]", "1", "true", "[]"), HasSubstr("`run` is a list"));
  EXPECT_THAT(member_error("\"x\"", "1", "true", "[]"), HasSubstr("`run` is the string `x`"));
  EXPECT_THAT(member_error(run, "-1", "true", "[]"), HasSubstr("`iteration`"));
  EXPECT_THAT(member_error(run, "1", "1", "[]"), HasSubstr("`best`"));
  EXPECT_THAT(member_error(run, "1", "true", "{}"), HasSubstr("`files` is a map"));
  EXPECT_THAT(member_error(run, "1", "true", "[3]"), HasSubstr("a file"));
  const auto file = [&](const std::string& name) {
    return R"([{"name": ")" + name + R"(", "bytes": 1, "sha256": )" + run + "}]";
  };
  for (const std::string name : {"../state.json", "/etc/passwd", "..", ".", "manifest.json"})
    EXPECT_THAT(member_error(run, "1", "true", file(name)),
                HasSubstr("the name of a file in the folder, except manifest.json"))
        << name;
}

TEST(CheckpointManifest, FilesAreListedInOrder) {
  const test::TemporaryFolder folder;
  folder.write("b", "bb");
  folder.write("a", "");
  folder.write("manifest.json", "not one of them");
  const auto files = files_of(folder.path());
  ASSERT_TRUE(files.ok());
  EXPECT_THAT(*files,
              ElementsAre(ManifestFile{"a", 0, base::sha256_hex("")}, ManifestFile{"b", 2, base::sha256_hex("bb")}));
  const Manifest manifest{std::string(64, 'a'), 1, false, *files};
  EXPECT_TRUE(check_files(manifest, folder.path()).ok());
  folder.write("b", "bc");
  EXPECT_THAT(to_text(check_files(manifest, folder.path()).error()), HasSubstr("/b: the file is damaged: its SHA-256"));
  folder.write("b", "bbb");
  EXPECT_THAT(to_text(check_files(manifest, folder.path()).error()), HasSubstr("it has 3 bytes, but 2 were written"));
}

TEST(CheckpointManifest, ANestedFolderIsAnError) {
  const test::TemporaryFolder folder;
  std::filesystem::create_directory(folder.file("inner"));
  EXPECT_FALSE(files_of(folder.path()).ok());
  EXPECT_FALSE(files_of(folder.file("none")).ok());
}

}  // namespace

}  // namespace dovetail::records
