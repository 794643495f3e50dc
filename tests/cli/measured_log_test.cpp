// dovetail measured and dovetail plan with a run's log instead of a job, and measured --follow.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "cli/job_files.h"
#include "cli/run_program.h"
#include "trainers/verl/imported.h"
#include "trainers/verl/printed.h"

namespace dovetail::cli {
namespace {

using nlohmann::json;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::string own_log() { return trainers::log_with(trainers::printed, trainers::ray, trainers::other); }

TEST(MeasuredLog, UsesItsConfigurationAndLengths) {
  const TemporaryFolder folder;
  const std::string log = folder.write("run.log", own_log());
  const ProgramResult result = run_program({"measured", log});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, ContainsRegex("^[^\n]*run.log is read as a configuration of verl: the log contains its "
                                        "configuration, from line 3\nlog of verl: median over 2 steps of 4\n"));
  EXPECT_THAT(result.out, ContainsRegex("\nactor_generate and weight sync +25.0 s .* timing_s/gen\n"));
  EXPECT_THAT(result.out, ContainsRegex("\nactor_train +20.0 s .* timing_s/update_actor\n"));
  EXPECT_THAT(result.out, Not(HasSubstr("use the measured lengths"))) << "they are the measured ones";
  EXPECT_THAT(result.err, HasSubstr("response lengths from "));
  EXPECT_THAT(result.err, HasSubstr(": mean 400 tokens, cap 2048, longest in a typical step: 1900"));
  EXPECT_THAT(result.err, HasSubstr("prompt lengths from "));
}

TEST(MeasuredLog, WritesAFileForCalibrate) {
  const TemporaryFolder folder;
  const std::string log = folder.write("run.log", own_log());
  for (const char* name : {"measured.yaml", "measured.json"}) {
    const std::string output = folder.file(name);
    const ProgramResult result = run_program({"measured", log, "--gpu", "A100-80", "-o", output});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const ProgramResult calibrated = run_program({"calibrate", output, "--evaluations", "20"});
    EXPECT_EQ(calibrated.exit_code, 0) << calibrated.err << content_of(output);
    EXPECT_THAT(content_of(output), HasSubstr("A100-80"));
  }
}

TEST(MeasuredLog, AcceptsALaunchScriptInstead) {
  const TemporaryFolder folder;
  std::string steps;
  for (int step = 1; step <= 4; ++step) steps += trainers::verl_step(step, 25);
  const std::string log = folder.write("steps.log", steps);
  const std::string script = folder.write("run.sh", trainers::script_of(trainers::grpo_fsdp));
  const ProgramResult own = run_program({"measured", folder.write("run.log", own_log()), "--json"});
  const ProgramResult with_job = run_program({"measured", log, "--job", script, "--json"});
  ASSERT_EQ(with_job.exit_code, 0) << with_job.err;
  EXPECT_EQ(json::parse(own.out)["comparison"]["phases"], json::parse(with_job.out)["comparison"]["phases"])
      << "the same settings, and the same lengths";
  const ProgramResult longer = run_program({"measured", log, "--job", script, "--json", "--response-length", "1500"});
  EXPECT_GT(json::parse(longer.out)["comparison"]["iteration"]["predicted"],
            json::parse(with_job.out)["comparison"]["iteration"]["predicted"])
      << "options take precedence over the log";
}

TEST(MeasuredLog, RejectsConflictingOptions) {
  const TemporaryFolder folder;
  const std::string steps = folder.write("steps.log", trainers::verl_step(1, 25));
  const std::string plan = folder.write("plan.json", small_plan);
  const ProgramResult no_job = run_program({"measured", steps, "--plan", plan});
  EXPECT_EQ(no_job.exit_code, 2);
  EXPECT_THAT(no_job.err, HasSubstr("--plan needs a job; give --job, or a log that starts with"));
  EXPECT_THAT(run_program({"measured", steps, "--gpu", "H100"}).err, HasSubstr("options for trainer configurations"));
  std::string broken = own_log();
  broken.replace(broken.find("'grad_clip'"), 1, "");
  const ProgramResult reported = run_program({"measured", folder.write("broken.log", broken)});
  EXPECT_EQ(reported.exit_code, 0);
  EXPECT_THAT(reported.err, ContainsRegex("no prediction: .*broken.log:7:[0-9]+: "));
  EXPECT_THAT(reported.out, StartsWith("log of verl: "));
  EXPECT_EQ(run_program({"measured", folder.file("broken.log"), "--gpu", "H100"}).exit_code, 2);
}

TEST(MeasuredLog, LengthsOptionComplementsAConfiguration) {
  const TemporaryFolder folder;
  const std::string script = folder.write("run.sh", trainers::script_of(trainers::grpo_fsdp));
  const std::string log = folder.write("run.log", own_log());
  std::string table = "response_length\n";
  for (int length = 100; length <= 700; length += 100) table += std::to_string(length) + "\n";
  const std::string lengths = folder.write("lengths.csv", table);
  const auto imported = [&](const std::string& file) {
    return run_program({"import", script, "--lengths", file, "-o", folder.file("job.yaml")});
  };
  const ProgramResult of_log = imported(log);
  ASSERT_EQ(of_log.exit_code, 0) << of_log.err;
  EXPECT_THAT(content_of(folder.file("job.yaml")),
              ContainsRegex("response_length: \\{mean: 400.0, sigma: 0\\.[0-9]+, cap: 2048\\}"));
  EXPECT_THAT(content_of(folder.file("job.yaml")),
              ContainsRegex("prompt_length: \\{mean: 120.0, sigma: 0\\.[0-9]+, cap: 1024\\}"));
  const ProgramResult of_file = imported(lengths);
  ASSERT_EQ(of_file.exit_code, 0) << of_file.err;
  EXPECT_THAT(of_file.err, HasSubstr(": mean 400 tokens, maximum 700"));
  EXPECT_EQ(run_program({"fit", folder.file("job.yaml"), "--iterations", "100"}).exit_code, 0) << "it finds the file";
  const ProgramResult nothing = imported(folder.write("words.csv", "a\nb\n"));
  EXPECT_EQ(nothing.exit_code, 2);
  EXPECT_THAT(nothing.err, ContainsRegex("words.csv:.* neither a trainer's log nor a table of lengths: "));
  EXPECT_EQ(run_program({"fit", folder.write("small.yaml", small_job), "--lengths", log}).exit_code, 2);
}

TEST(PlanOfALog, TriesThreeLengthsIfNoneIsKnown) {
  const TemporaryFolder folder;
  const std::string log = folder.write("run.log", own_log());
  const std::vector<std::string> plan{"plan", log, "--iterations", "300", "--chains", "1", "--simulate", "0"};
  const ProgramResult open = run_program(plan);
  ASSERT_EQ(open.exit_code, 0) << open.err;
  EXPECT_THAT(open.out, HasSubstr("Response lengths are unknown, except for their cap of 2048 tokens"));
  EXPECT_THAT(open.out, ContainsRegex("The choice of the plan (does not depend|DEPENDS) on the lengths"));
  std::vector<std::string> as_json = plan;
  as_json.push_back("--json");
  const json answer = json::parse(run_program(as_json).out);
  const json& parts = answer["open_lengths"]["parts"];
  ASSERT_EQ(parts.size(), 3U);
  EXPECT_EQ(parts[1]["iteration_seconds"], answer["plans"][0]["iteration_seconds"]);
  EXPECT_LT(parts[0]["iteration_seconds"], parts[1]["iteration_seconds"]);
  EXPECT_LT(parts[1]["iteration_seconds"], parts[2]["iteration_seconds"]);
  for (std::size_t part = 0; part < 3; ++part) {
    EXPECT_NEAR(parts[part]["mean"].get<double>(), 2048 * (part == 0 ? 0.25 : part == 1 ? 0.5 : 0.9), 2);
    EXPECT_LE(parts[part]["first_seconds"], parts[part]["iteration_seconds"]);
  }
  std::vector<std::string> with_lengths = as_json;
  with_lengths.insert(with_lengths.end(), {"--response-length", "mean=400,p90=900"});
  EXPECT_FALSE(json::parse(run_program(with_lengths).out).contains("open_lengths"));
}

/// Appends to a log, like a running job, while `dovetail measured --follow` reads it.
class Following : public testing::Test {
 protected:
  using Pause = std::chrono::milliseconds;

  /// Output of the program until it is interrupted, while `log` changes.
  ProgramResult follow(std::vector<std::string> more, const std::function<void()>& job) {
    std::vector<std::string> arguments{"measured", "--follow", log_, "--every", "50ms"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    std::thread running(job);
    RunOptions options;
    options.interrupt_after = Pause(5000);
    ProgramResult result = run_program(arguments, options);
    running.join();
    return result;
  }
  void append(const std::string& text) const { std::ofstream(log_, std::ios::app | std::ios::binary) << text; }
  static void wait(int milliseconds) { std::this_thread::sleep_for(Pause(milliseconds)); }

  TemporaryFolder folder_;
  std::string log_ = folder_.file("run.log");
  std::string job_ = folder_.write("job.yaml", small_job);
  std::string plan_ = folder_.write("plan.json", small_plan);
};

std::string small_step(int step, double generation) {
  return fmt::format("step:{} - timing_s/gen:{:.1f} - timing_s/update_actor:2.0 - timing_s/step:{:.1f}\n", step,
                     generation, generation + 4);
}

TEST_F(Following, ReportsEachStepAndSlowPhases) {
  const ProgramResult result = follow({"--job", job_, "--plan", plan_}, [&] {
    wait(300);
    append("Started a local Ray instance.\n");
    wait(200);
    for (int step = 1; step <= 3; ++step) append(small_step(step, 2));
    wait(300);
    const std::string slow = small_step(4, 200);
    append(slow.substr(0, 30));
    wait(300);
    append(slow.substr(30) + small_step(5, 2));
  });
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("run.log does not exist yet; waiting for it"));
  EXPECT_THAT(result.out, HasSubstr("step 1 (warm-up): iteration 6.0 s (predicted "));
  EXPECT_THAT(result.out, HasSubstr("\nstep 4: iteration 204 s (predicted "));
  EXPECT_THAT(result.out, ContainsRegex("\nNOTICE step 4: actor_generate took 200 s instead of the predicted "
                                        "[0-9.]+ m?s \\([0-9.]+ times the prediction\\)"));
  EXPECT_THAT(result.out, HasSubstr("\nstep 5: iteration 6.0 s")) << "the last one, once nothing more comes";
  EXPECT_THAT(result.out, HasSubstr("\nlog of verl: median over 3 steps of 5\n"));
  EXPECT_THAT(
      result.out,
      ContainsRegex("\nslow phases in the 5 steps followed, after the warm-up \\(at least 2 times their prediction\\): "
                    ".*actor_generate in "));
  EXPECT_EQ(result.out.find("step 1 "), result.out.rfind("step 1 ")) << "each once";
}

TEST_F(Following, SurvivesTruncatedReplacedAndBrokenLogs) {
  const ProgramResult result = follow({}, [&] {
    append(small_step(1, 2) + small_step(2, 2));
    wait(800);
    std::ofstream(log_, std::ios::trunc | std::ios::binary) << small_step(3, 2);
    wait(800);
    std::filesystem::rename(log_, log_ + ".1");
    append("step:4 - timing_s/gen:2.x - timing_s/step:6\n" + small_step(5, 2));
  });
  EXPECT_EQ(result.exit_code, 0) << result.err;
  for (const char* step : {"step 1 (warm-up): ", "step 2 (warm-up): ", "step 3: ", "step 5: "})
    EXPECT_THAT(result.out, HasSubstr(step));
  EXPECT_THAT(result.out, Not(HasSubstr("step 4")));
  EXPECT_THAT(result.err, HasSubstr("was truncated or replaced; reading the new content"));
  EXPECT_THAT(result.err, ContainsRegex("run.log:[0-9]+:[0-9]+: `timing_s/gen` is `2.x` at step 4.*line skipped"));
}

TEST_F(Following, UsesTheConfigurationOfTheLog) {
  const ProgramResult result = follow({}, [&] { append(own_log()); });
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("the log contains its configuration"));
  EXPECT_THAT(result.out, HasSubstr("\nstep 3: iteration 55.0 s (predicted "));
}

TEST_F(Following, HandlesAnEmptyLogAndRejectsOtherInput) {
  const ProgramResult none = follow({}, [] {});
  EXPECT_EQ(none.exit_code, 0);
  EXPECT_THAT(none.err, HasSubstr("the log has no steps"));
  const ProgramResult no_times = follow({}, [&] { append("step:1 - actor/loss:0.5\n"); });
  EXPECT_EQ(no_times.exit_code, 0);
  EXPECT_THAT(no_times.err, HasSubstr("the log has no times"));
  for (const std::vector<std::string>& wrong :
       {std::vector<std::string>{"-"}, {log_, log_}, {log_, "--json"}, {log_, "--every", "0"}}) {
    std::vector<std::string> arguments{"measured", "--follow"};
    arguments.insert(arguments.end(), wrong.begin(), wrong.end());
    EXPECT_EQ(run_program(arguments).exit_code, 2);
  }
  EXPECT_EQ(run_program({"measured", log_, "--every", "1s"}).exit_code, 2);
}

}  // namespace
}  // namespace dovetail::cli
