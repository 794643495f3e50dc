#include "records/run_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <limits>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "records/event_reader.h"
#include "records/metric_table.h"
#include "records/saved_models.h"
#include "support/temporary_folder.h"

namespace dovetail::records {
namespace {

namespace fs = std::filesystem;
using control::Metrics;
using test::content_of;
using testing::HasSubstr;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();

Metrics metrics_of(std::int64_t iteration) {
  const auto number = static_cast<double>(iteration);
  return {{"iteration", number}, {"reward", 1 / (number + 1)}, {"kl_token", number == 3 ? nan_value : number * 0.1}};
}

std::vector<control::Sample> samples_of(std::int64_t iteration) {
  std::vector<control::Sample> samples(3);
  for (control::Sample& sample : samples) {
    sample.sequence = {{1, 2, 3, 4}, 2};
    sample.text = "line\nof \"text\"";
    sample.reward = 0.1 * static_cast<double>(iteration);
  }
  return samples;
}

/// Data of the samples, which are all of the first prompt.
std::vector<control::PromptTokens> prompts() { return {{{1, 2}, "first", ""}}; }

RunFolder opened(const std::string& path, std::int64_t iterations, bool is_to_be_evaluated = false) {
  auto folder = RunFolder::open(path, iterations, is_to_be_evaluated);
  EXPECT_TRUE(folder.ok()) << to_text(folder.error());
  return std::move(folder).value();
}

/// Reports an iteration like the loop of a run, with an evaluation after every second one.
void report(RunFolder& folder, std::int64_t iteration) {
  ASSERT_TRUE(folder.add_samples(iteration, samples_of(iteration), prompts()).ok());
  ASSERT_TRUE(folder.add_metrics(metrics_of(iteration)).ok());
  if (iteration % 2 == 0) {
    ASSERT_TRUE(folder.add_evaluation(metrics_of(iteration)).ok());
  }
}

constexpr const char* row_files[] = {"metrics.jsonl", "eval.jsonl", "samples.jsonl"};

TEST(RunRow, HasMetricsInOrderAndTimingsAtTheEnd) {
  EXPECT_EQ(row_of({{"iteration", 12}, {"seconds", 0.5, true}, {"reward", 0.1}, {"speed", 1e9, true}}),
            "{\"iteration\": 12, \"reward\": 0.1, \"timing\": {\"seconds\": 0.5, \"speed\": 1000000000}}\n");
  EXPECT_EQ(row_of(Metrics{{"iteration", 1}}), "{\"iteration\": 1}\n");
}

TEST(RunRow, NonNumbersAreNull) {
  EXPECT_EQ(row_of({{"iteration", 1}, {"a", nan_value}, {"b", infinity}, {"c", -infinity, true}}),
            "{\"iteration\": 1, \"a\": null, \"b\": null, \"timing\": {\"c\": null}}\n");
}

RC_GTEST_PROP(RunRow, NumbersReadBackToTheBit, (std::int64_t mantissa, std::uint16_t shift)) {
  const double value = std::ldexp(static_cast<double>(mantissa), static_cast<int>(shift % 1900) - 1000);
  if (!std::isfinite(value)) return;
  const auto table = parse_metrics(row_of({{"iteration", 1}, {"x", value}}), "row");
  RC_ASSERT(table.ok());
  RC_ASSERT(table->find("x")->points.at(0).value == value);
}

TEST(RunRow, HasWhatAScriptNeedsOfASample) {
  control::Sample sample = samples_of(1).front();
  sample.epoch = 2;
  sample.prompt = 17;
  sample.copy = 3;
  sample.ended = true;
  sample.shaped_reward = -0.5;
  sample.sampled = {-0.25, nan_value};
  sample.advantages = {1, 2};
  EXPECT_EQ(
      row_of(5, sample, "a prompt"),
      "{\"iteration\": 5, \"epoch\": 2, \"prompt_index\": 17, \"copy\": 3, \"reward\": 0.1, \"shaped_reward\": -0.5, "
      "\"ended\": true, \"prompt\": \"a prompt\", \"text\": \"line\\u000Aof \\\"text\\\"\", \"prompt_tokens\": [1, 2], "
      "\"response_tokens\": [3, "
      "4], \"sampled\": [-0.25, null], \"advantages\": [1, 2]}\n");
}

TEST(RunFolder, RowsAreVisibleImmediately) {
  const test::TemporaryFolder folder;
  RunFolder run = opened(folder.path(), 0);
  report(run, 1);
  EXPECT_EQ(content_of(folder.file("metrics.jsonl")), row_of(metrics_of(1)));
  report(run, 2);
  EXPECT_EQ(content_of(folder.file("metrics.jsonl")), row_of(metrics_of(1)) + row_of(metrics_of(2)));
  EXPECT_EQ(content_of(folder.file("eval.jsonl")), row_of(metrics_of(2)));
  EXPECT_TRUE(content_of(folder.file("samples.jsonl")).starts_with(row_of(1, samples_of(1)[0], "first")));
  EXPECT_TRUE(fs::is_directory(folder.file("checkpoints")));
  EXPECT_TRUE(run.flush().ok());
}

// A run of 8 iterations is killed at some point after the checkpoint of iteration `kept`. Its files are cut at any
// possible last byte, and it is resumed.
RC_GTEST_PROP(RunFolder, AResumedRunLeavesTheSameRows,
              (std::uint8_t kept_byte, std::uint8_t reached_byte, std::uint32_t cut)) {
  constexpr std::int64_t iterations = 8;
  const std::int64_t kept = kept_byte % iterations;
  const std::int64_t reached = kept + 1 + reached_byte % (iterations - kept);
  const test::TemporaryFolder undisturbed;
  const test::TemporaryFolder disturbed;
  std::map<std::string, std::size_t> sizes;
  {
    RunFolder whole = opened(undisturbed.path(), 0);
    for (std::int64_t i = 1; i <= iterations; ++i) report(whole, i);
    RunFolder ended = opened(disturbed.path(), 0);
    for (std::int64_t i = 1; i <= reached; ++i) {
      report(ended, i);
      if (i <= kept)
        for (const char* name : row_files) sizes[name] = fs::file_size(disturbed.file(name));
    }
  }
  for (const char* name : row_files) {
    const std::size_t least = sizes[name];
    fs::resize_file(disturbed.file(name), least + cut % (fs::file_size(disturbed.file(name)) - least + 1));
  }
  RunFolder resumed = opened(disturbed.path(), kept);
  for (std::int64_t i = kept + 1; i <= iterations; ++i) report(resumed, i);
  for (const char* name : row_files) RC_ASSERT(content_of(disturbed.file(name)) == content_of(undisturbed.file(name)));
}

TEST(RunFolder, AnEvaluationToBeRepeatedIsCutOff) {
  const test::TemporaryFolder folder;
  {
    RunFolder run = opened(folder.path(), 0);
    for (std::int64_t i = 1; i <= 4; ++i) report(run, i);
  }
  opened(folder.path(), 4);
  EXPECT_EQ(content_of(folder.file("eval.jsonl")), row_of(metrics_of(2)) + row_of(metrics_of(4)));
  opened(folder.path(), 4, true);
  EXPECT_EQ(content_of(folder.file("eval.jsonl")), row_of(metrics_of(2)));
  const auto metrics = read_metrics(folder.file("metrics.jsonl"));
  EXPECT_EQ(metrics->rows(), 4);
}

TEST(RunFolder, TheEvaluationBeforeTheFirstIterationIsARow) {
  const test::TemporaryFolder folder;
  {
    RunFolder run = opened(folder.path(), 0, true);
    ASSERT_TRUE(run.add_evaluation(metrics_of(0)).ok());
  }
  opened(folder.path(), 0, false);
  EXPECT_EQ(content_of(folder.file("eval.jsonl")), row_of(metrics_of(0)));
  opened(folder.path(), 0, true);
  EXPECT_EQ(content_of(folder.file("eval.jsonl")), "");
}

TEST(RunFolder, TensorBoardGetsTheStepOfTheResume) {
  const test::TemporaryFolder folder;
  const auto dropped_from = [&](std::int64_t iterations, bool is_to_be_evaluated) -> std::int64_t {
    opened(folder.path(), iterations, is_to_be_evaluated);
    const auto events = events_in(event_files_in(folder.file("tensorboard")).back());
    return events.size() == 2 && events[1].session == 1U ? events[1].step : -1;
  };
  EXPECT_EQ(dropped_from(0, true), -1) << "there is nothing yet";
  EXPECT_EQ(dropped_from(0, true), 0);
  EXPECT_EQ(dropped_from(0, false), 1);
  EXPECT_EQ(dropped_from(7, false), 8);
  EXPECT_EQ(dropped_from(7, true), 8);
}

TEST(RunFolder, TensorBoardHasTheSameMetrics) {
  const test::TemporaryFolder folder;
  RunFolder run = opened(folder.path(), 0);
  report(run, 1);
  report(run, 2);
  const auto events = events_in(event_files_in(folder.file("tensorboard")).back());
  ASSERT_EQ(events.size(), 4U);
  EXPECT_EQ(events[1].scalars[0], std::pair(std::string("train/reward"), 0.5F));
  EXPECT_EQ(events[3].scalars[0].first, "evaluation/reward");
  EXPECT_EQ(events[3].step, 2);
}

TEST(RunFolder, AnIncompleteLastRowIsCutOff) {
  const test::TemporaryFolder folder;
  const std::string row = row_of(metrics_of(1));
  for (const std::string rest : {"\n", "{}\n", "{\"iteration\": ", "nonsense\n\n", "{\"iteration\": 2}\n"}) {
    folder.write("metrics.jsonl", row + rest);
    opened(folder.path(), 1);
    EXPECT_EQ(content_of(folder.file("metrics.jsonl")), row) << rest;
  }
  folder.write("metrics.jsonl", row + std::string(100, '\0'));
  opened(folder.path(), 1);
  EXPECT_EQ(content_of(folder.file("metrics.jsonl")), row);
}

TEST(RunFolder, AFullDiskLeavesNoPartialRow) {
  const test::TemporaryFolder folder;
  RunFolder run = opened(folder.path(), 0);
  report(run, 1);
  report(run, 2);
  for (const char* name : row_files) {
    const std::string before = content_of(folder.file(name));
    const base::Status status = [&]() -> base::Status {
      const FullDisk full(before.size() + 10);
      if (name == row_files[0]) return run.add_metrics(metrics_of(3));
      if (name == row_files[1]) return run.add_evaluation(metrics_of(3));
      return run.add_samples(3, samples_of(3), prompts());
    }();
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().failure, base::Failure::io);
    EXPECT_EQ(status.error().path, folder.file(name));
    EXPECT_EQ(content_of(folder.file(name)), before);
  }
  report(run, 3);
  EXPECT_EQ(content_of(folder.file("metrics.jsonl")),
            row_of(metrics_of(1)) + row_of(metrics_of(2)) + row_of(metrics_of(3)));
}

TEST(RunFolder, AFolderThatCannotBeCreatedIsAnError) {
  const test::TemporaryFolder folder;
  const std::string file = folder.write("file", "");
  const auto run = RunFolder::open(file, 0);
  ASSERT_FALSE(run.ok());
  EXPECT_EQ(run.error().failure, base::Failure::io);
  EXPECT_THAT(run.error().path, HasSubstr(file));
}

TEST(RunFolder, CanBeReadWhileItGrows) {
  const test::TemporaryFolder folder;
  RunFolder run = opened(folder.path(), 0);
  std::atomic<bool> is_done = false;
  std::thread reader([&] {
    std::int64_t rows = 0;
    while (!is_done) {
      const auto table = read_metrics(folder.file("metrics.jsonl"));
      ASSERT_TRUE(table.ok()) << to_text(table.error());
      ASSERT_GE(table->rows(), rows);
      rows = table->rows();
    }
  });
  for (std::int64_t i = 1; i <= 500; ++i) ASSERT_TRUE(run.add_metrics(metrics_of(i)).ok());
  is_done = true;
  reader.join();
  EXPECT_EQ(read_metrics(folder.file("metrics.jsonl"))->rows(), 500);
}

TEST(FolderLock, IsHeldByOneProgramAtATime) {
  const test::TemporaryFolder folder;
  const std::string path = folder.file("runs/new");
  {
    const auto first = FolderLock::take(path);
    ASSERT_TRUE(first.ok());
    EXPECT_TRUE(std::filesystem::is_directory(path));
    const auto second = FolderLock::take(path);
    ASSERT_FALSE(second.ok());
    EXPECT_EQ(to_text(second.error()),
              path + ": another program is using this folder; wait until it ends or use another folder");
    EXPECT_EQ(second.error().failure, base::Failure::bad_input);
  }
  EXPECT_TRUE(FolderLock::take(path).ok());
}

TEST(FolderLock, EndsWithAKilledProgram) {
  const test::TemporaryFolder folder;
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const auto lock = FolderLock::take(folder.path());
    const char signal = lock.ok() ? '1' : '0';
    if (::write(ready[1], &signal, 1) != 1) ::_exit(1);
    for (;;) ::pause();
  }
  char signal = 0;
  ASSERT_EQ(::read(ready[0], &signal, 1), 1);
  EXPECT_EQ(signal, '1');
  EXPECT_FALSE(FolderLock::take(folder.path()).ok());
  ::kill(child, SIGKILL);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_TRUE(FolderLock::take(folder.path()).ok());
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST(FolderLock, AFileIsAnError) {
  const test::TemporaryFolder folder;
  const auto lock = FolderLock::take(folder.write("file", ""));
  ASSERT_FALSE(lock.ok());
  EXPECT_EQ(lock.error().failure, base::Failure::io);
}

double now() { return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count(); }

EventFile opened(const test::TemporaryFolder& folder, std::int64_t first_step) {
  auto file = EventFile::open(folder.path(), first_step);
  EXPECT_TRUE(file.ok());
  return std::move(file).value();
}

TEST(Crc32c, MatchesTheStandard) {
  // RFC 3720, B.4.
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8A9136AAU);
  EXPECT_EQ(crc32c(std::string(32, '\xFF')), 0x62A8AB43U);
  EXPECT_EQ(crc32c("123456789"), 0xE3069283U);
  EXPECT_EQ(crc32c(""), 0U);
}

RC_GTEST_PROP(Crc32c, MatchesASlowDivision, (const std::string& bytes)) { RC_ASSERT(crc32c(bytes) == slow_crc(bytes)); }

TEST(EventFile, HasItsVersionAndTheScalarsOfEachStep) {
  const test::TemporaryFolder folder;
  const double begin = now();
  EventFile file = opened(folder, 1);
  ASSERT_TRUE(file.add({{"iteration", 1}, {"reward", 0.25}, {"seconds", 3, true}}, 1, "train").ok());
  ASSERT_TRUE(file.add({{"iteration", 300}, {"reward", std::nan("")}}, 300, "evaluation").ok());
  const auto paths = event_files_in(folder.path());
  ASSERT_EQ(paths.size(), 1U);
  EXPECT_THAT(paths[0], HasSubstr("/events.out.tfevents."));
  const std::vector<Event> events = events_in(paths[0]);
  ASSERT_EQ(events.size(), 3U);
  EXPECT_EQ(events[0].version, "brain.Event:2");
  EXPECT_FALSE(events[0].session);
  EXPECT_EQ(events[1].step, 1);
  ASSERT_EQ(events[1].scalars.size(), 2U);
  EXPECT_EQ(events[1].scalars[0], std::pair(std::string("train/reward"), 0.25F));
  EXPECT_EQ(events[1].scalars[1], std::pair(std::string("timing/seconds"), 3.0F));
  EXPECT_EQ(events[2].step, 300);
  ASSERT_EQ(events[2].scalars.size(), 1U);
  EXPECT_EQ(events[2].scalars[0].first, "evaluation/reward");
  EXPECT_TRUE(std::isnan(events[2].scalars[0].second));
  for (const Event& event : events) {
    EXPECT_GE(event.wall_time, begin);
    EXPECT_LE(event.wall_time, now());
  }
}

TEST(EventFile, AResumedRunComesLastAndDropsLaterEvents) {
  const test::TemporaryFolder folder;
  for (std::int64_t first : {1, 21, 11, 1}) {
    EventFile file = opened(folder, first);
    ASSERT_TRUE(file.add({{"iteration", 1}, {"reward", static_cast<double>(first)}}, first, "train").ok());
    const auto paths = event_files_in(folder.path());
    const std::vector<Event> events = events_in(paths.back());
    ASSERT_EQ(events.size(), paths.size() == 1 ? 2U : 3U);
    EXPECT_EQ(events.back().step, first);
    EXPECT_EQ(events.back().scalars[0].second, static_cast<float>(first));
    if (paths.size() == 1) continue;
    EXPECT_EQ(events[1].session, 1U);  // START
    EXPECT_EQ(events[1].step, first);
  }
  EXPECT_EQ(event_files_in(folder.path()).size(), 4U);
}

TEST(EventFile, ComesAfterAFileWithALaterClock) {
  const test::TemporaryFolder folder;
  folder.write("events.out.tfevents.9999999998.elsewhere", "");
  folder.write("unrelated", "");
  opened(folder, 5);
  EXPECT_EQ(std::filesystem::path(event_files_in(folder.path())[1]).filename(),
            "events.out.tfevents.9999999999.dovetail");
}

TEST(EventFile, HasCompleteRecordsOnAFullDisk) {
  const test::TemporaryFolder folder;
  EventFile file = opened(folder, 1);
  const std::string path = event_files_in(folder.path())[0];
  const std::string before = content_of(path);
  {
    const FullDisk full(before.size() + 20);
    const base::Status status = file.add({{"iteration", 1}, {"reward", 1}}, 1, "train");
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().path, path);
  }
  EXPECT_EQ(content_of(path), before);
  EXPECT_FALSE(EventFile::open(folder.file("none"), 1).ok());
}

}  // namespace

}  // namespace dovetail::records
