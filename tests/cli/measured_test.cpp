// dovetail measured: logged times, their comparison with predictions, and the measurement for calibrate.
// dovetail calibrate: efficiencies from measured runs, and the remaining error.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "cli/job_files.h"
#include "cli/run_program.h"

namespace dovetail::cli {
namespace {

using nlohmann::json;
using testing::ContainsRegex;
using testing::HasSubstr;

std::string verl_log(double generation) {
  std::string text;
  for (int step = 1; step <= 4; ++step)
    text += R"({"step": )" + std::to_string(step) + R"(, "data": {"timing_s/gen": )" +
            std::to_string(generation + step) +
            R"(, "timing_s/update_actor": 5, "timing_s/update_weights": 4, "timing_s/mine": 1, "timing_s/step": )" +
            std::to_string(generation + step + 12) + "}}\n";
  return text;
}

TEST(Measured, ShowsTheTimesOfALog) {
  const TemporaryFolder folder;
  const ProgramResult result = run_program({"measured", folder.write("run.jsonl", verl_log(50))});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  EXPECT_THAT(result.out, HasSubstr("log of verl: median over 2 steps of 4\n"));
  EXPECT_THAT(result.out,
              HasSubstr("steps left out as warm-up: 1 to 2 (the first took 0.96 times as long as a usual step)\n"));
  EXPECT_THAT(result.out, ContainsRegex("\ndata/timing_s/gen +generation: actor +53.5 s +53.2 s to 53.8 s\n"));
  EXPECT_THAT(result.out, HasSubstr("unknown times ignored: data/timing_s/mine\n"));
}

TEST(Measured, ComparesWithPredictionAndWritesAMeasurement) {
  const TemporaryFolder folder;
  const std::string job = folder.write("job.yaml", small_job);
  const std::string plan = folder.write("plan.json", small_plan);
  const std::string log = folder.write("run.jsonl", verl_log(500));
  for (const char* name : {"measured.yaml", "measured.json"}) {
    const std::string output = folder.file(name);
    const ProgramResult result = run_program({"measured", log, "--job", job, "--plan", plan, "-o", output});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    EXPECT_THAT(result.out,
                ContainsRegex("\nactor_generate +504 s +503 s to 504 s +[0-9.]+ m?s +-[0-9.]+% +data/timing_s/gen\n"));
    EXPECT_THAT(result.out, HasSubstr("\nactor_generate: "));
    EXPECT_THAT(result.out, HasSubstr("  - the tail: "));
    EXPECT_THAT(content_of(output), HasSubstr("job.yaml"));
    const ProgramResult calibrated = run_program({"calibrate", output, "--evaluations", "20"});
    EXPECT_EQ(calibrated.exit_code, 0) << calibrated.err << content_of(output);
  }
  const ProgramResult answer =
      run_program({"measured", log, "--job", job, "--plan", plan, "--json", "--skip", "0", "--statistic", "mean"});
  ASSERT_EQ(answer.exit_code, 0) << answer.err;
  const json report = json::parse(answer.out);
  EXPECT_EQ(report["format"], "dovetail/measured@1");
  EXPECT_EQ(report["steps"], json::parse("[1, 2, 3, 4]"));
  EXPECT_EQ(report["comparison"]["phases"][0]["measured"], 502.5);
}

TEST(Measured, ComparesAFusedPlanWithoutItsFusion) {
  const TemporaryFolder folder;
  std::string fused = small_plan;
  fused.insert(fused.rfind('}'), ", \"fusion\": {\"inter_stage\": {\"threshold\": 0.2}}");
  const std::vector<std::string> compare{"measured", folder.write("run.jsonl", verl_log(50)), "--job",
                                         folder.write("job.yaml", small_job), "--plan"};
  const auto compared = [&](std::vector<std::string> more) {
    more.insert(more.begin(), compare.begin(), compare.end());
    return run_program(more);
  };
  const ProgramResult alone = compared({folder.write("fused.json", fused)});
  EXPECT_EQ(alone.exit_code, 0) << alone.err;
  EXPECT_THAT(alone.err, HasSubstr("the plan fuses stages, but verl runs them separately; comparing without fusion"));
  EXPECT_EQ(alone.out, compared({folder.write("plan.json", small_plan)}).out);
  const ProgramResult written = compared({folder.file("fused.json"), "-o", folder.file("out.yaml")});
  EXPECT_EQ(written.exit_code, 2);
  EXPECT_THAT(written.err, HasSubstr("so the plan's prediction does not match the run; use a plan without `fusion`"));
  EXPECT_EQ(content_of(folder.file("out.yaml")), "");
  const json both = json::parse(compared({folder.file("plan.json"), "--json", "-o", "-"}).out);
  EXPECT_EQ(both["format"], "dovetail/measured@1");
  EXPECT_THAT(both["output"].get<std::string>(), HasSubstr("dovetail/measurement@1"));
}

TEST(Measured, ReportsErrors) {
  const TemporaryFolder folder;
  const std::string log = folder.write("run.jsonl", verl_log(50));
  const ProgramResult alone = run_program({"measured", log, "--job", folder.write("job.yaml", small_job)});
  EXPECT_EQ(alone.exit_code, 2);
  EXPECT_THAT(alone.err, HasSubstr("a job file holds no plan; add --plan"));
  EXPECT_THAT(run_program({"measured", "timing_s/gen=-", "--job", "a.yaml", "--plan", "-"}).err,
              HasSubstr("standard input can be read only once"));
  const ProgramResult output = run_program({"measured", log, "-o", folder.file("out.yaml")});
  EXPECT_EQ(output.exit_code, 2);
  EXPECT_THAT(output.err, HasSubstr("-o needs the job and the plan of the run"));
  EXPECT_EQ(content_of(folder.file("out.yaml")), "");
  const ProgramResult broken =
      run_program({"measured", folder.write("bad.jsonl", "{\"timing_s/gen\": 1}\n{\"timing_s/gen\": -1}\n")});
  EXPECT_EQ(broken.exit_code, 2);
  EXPECT_THAT(broken.err, HasSubstr("bad.jsonl:2:18: `timing_s/gen` takes -1 s at step 2"));
  EXPECT_EQ(run_program({"measured", log, "--format", "slime"}).exit_code, 2);
  EXPECT_EQ(run_program({"measured", folder.file("nothing.jsonl")}).exit_code, 1);
}

TEST(Measured, ScalarTakesItsKeyFromTheArgument) {
  const TemporaryFolder folder;
  const std::string gen = folder.write("run-1-tag-timing_s_gen.csv", "Wall time,Step,Value\n1,1,5\n2,2,6\n3,3,7\n");
  const std::string step = folder.write("x.csv", "Wall time,Step,Value\n1,1,15\n2,2,16\n3,3,17\n");
  const ProgramResult result = run_program({"measured", gen, "timing_s/step=" + step, "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json report = json::parse(result.out);
  EXPECT_EQ(report["times"][0]["use"], "iteration");
  EXPECT_EQ(report["times"][0]["seconds"]["median"], 17);
  EXPECT_EQ(report["times"][1]["key"], "timing_s_gen");
}

TEST(Measured, ProfileReplacesTheRoofline) {
  const TemporaryFolder folder;
  folder.write("profile.yaml",
               "format: dovetail/profile@1\nname: slow\nlayers:\n  - model: qwen3-0.6b\n    gpu: H100\n"
               "    forward: [{length: 640, tokens: [2560], seconds: [0.05]}]\n    backward: [{length: 640, tokens: "
               "[2560], seconds: [0.1]}]\n");
  const std::string plan = folder.write("plan.json", small_plan);
  const std::string job = folder.write("job.yaml", small_job);
  const std::string profiled =
      folder.write("profiled.yaml", std::string(small_job) + "software: {profile: profile.yaml}\n");
  const ProgramResult usual = run_program({"plan", job, "--plan", plan, "--json"});
  const ProgramResult slow = run_program({"plan", profiled, "--plan", plan, "--json"});
  ASSERT_EQ(slow.exit_code, 0) << slow.err;
  EXPECT_GT(json::parse(slow.out)["iteration_seconds"], json::parse(usual.out)["iteration_seconds"]);
  EXPECT_EQ(json::parse(slow.out)["profile"]["name"], "slow");
  const ProgramResult printed = run_program({"plan", profiled, "--plan", plan});
  EXPECT_THAT(
      printed.out,
      HasSubstr("measured layers slow: profile: actor_infer, reference_infer, actor_train; profile, beyond its range: "
                "actor_generate; roofline: actor_generate (decode)\n"));
  const std::vector<std::vector<std::string>> others{{"plan", profiled, "--iterations", "500", "--simulate", "0"},
                                                     {"fit", profiled, "--plan", plan},
                                                     {"explain", profiled, "--plan", plan, "--iterations", "500"}};
  for (std::vector<std::string> command : others) {
    EXPECT_THAT(run_program(command).out, HasSubstr("\nmeasured layers slow: ")) << command.front();
    command.push_back("--json");
    EXPECT_EQ(json::parse(run_program(command).out)["profile"]["name"], "slow") << command.front();
  }
  folder.write("profile.yaml", "format: dovetail/profile@1\nname: slow\nlayers: 3\n");
  const ProgramResult broken = run_program({"plan", profiled, "--plan", plan});
  EXPECT_EQ(broken.exit_code, 2);
  EXPECT_THAT(broken.err, HasSubstr("profile.yaml:3:9: `layers` is 3"));
}

constexpr const char* measurements = R"(format: dovetail/measurement@1
name: mine
fit: [matrix_products, decode_step]
rows:
  - {name: short, group: a, job: job.yaml, plan: plan.json, seconds: 14, phases: {generation: 7}}
  - {name: long, group: b, job: job.yaml, plan: plan.json, seconds: 15}
  - {name: odd, job: job.yaml, plan: plan.json, seconds: 99, doubtful: the clock was still}
)";

/// Paths of a folder with measurements, and of the job and plan that they name.
std::string write_measurements(const TemporaryFolder& folder, const std::string& text = measurements) {
  folder.write("job.yaml", small_job);
  folder.write("plan.json", small_plan);
  return folder.write("runs.yaml", text);
}

TEST(Calibrate, ReportsTheRemainingError) {
  const TemporaryFolder folder;
  const ProgramResult result = run_program({"calibrate", write_measurements(folder), "--evaluations", "100"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  EXPECT_THAT(result.out, HasSubstr("mine; 2 values fitted to 2 rows\n"));
  EXPECT_THAT(result.out, ContainsRegex("\nrow .* generation +inference +training .*weight sync\n"));
  EXPECT_THAT(result.out,
              ContainsRegex("\nshort +14 +[0-9.]+ +[+-][0-9.]+% +[+-][0-9.]+% +7: [0-9.]+ \\([+-][0-9.]+%\\)"));
  EXPECT_THAT(result.out, ContainsRegex("\nshort +generation +7 +50% +[0-9.]+ +[+-][0-9.]+% +[+-][0-9.]+%\n"));
  EXPECT_THAT(result.out, ContainsRegex("\nodd +99 +[0-9.]+ +-[0-9.]+%.* the clock was still\n"));
  EXPECT_THAT(result.out, ContainsRegex("\nmean absolute error: fitted [0-9.]+%, cross-validated [0-9.]+%\n"));
  EXPECT_THAT(result.out, ContainsRegex("\nmatrix_products +0.45 +0\\.[0-9]+"));
}

TEST(Calibrate, OneRowHasNoCrossValidation) {
  const TemporaryFolder folder;
  std::string text = measurements;
  const std::size_t second = text.find("  - {name: long");
  text.erase(second, text.find('\n', second) + 1 - second);
  const std::string path = folder.file("mine.json");
  const ProgramResult result =
      run_program({"calibrate", write_measurements(folder, text), "--evaluations", "200", "-o", path});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, ContainsRegex("\nmean absolute error: fitted [0-9.]+%\n"));
  EXPECT_THAT(result.out,
              HasSubstr("\nno cross-validation: assuming a prediction error of 25.0% (the error before the fit)\n"));
  EXPECT_EQ(json::parse(content_of(path))["error"], 0.25) << "the assumed error of software without measurements";
}

TEST(Calibrate, WritesAnEfficiencyFileForJobs) {
  const TemporaryFolder folder;
  const std::string path = folder.file("mine.json");
  const ProgramResult result =
      run_program({"calibrate", write_measurements(folder), "--evaluations", "100", "-o", path, "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json report = json::parse(result.out);
  EXPECT_EQ(report["format"], "dovetail/calibration@1");
  const json written = json::parse(content_of(path));
  EXPECT_EQ(written["format"], "dovetail/efficiency@1");
  EXPECT_EQ(written["name"], "mine");
  EXPECT_NEAR(written["error"].get<double>(), report["error"].get<double>(), 1e-6);
  EXPECT_EQ(report["error"], report["left_out"]["mean_absolute_error"]);
  EXPECT_EQ(written["constants"]["decode_step"], report["values"][1]["value"]);
  const std::string job =
      folder.write("calibrated.yaml", std::string(small_job) + "software: {efficiency: mine.json}\n");
  const ProgramResult planned = run_program({"plan", job, "--plan", folder.file("plan.json"), "--json"});
  ASSERT_EQ(planned.exit_code, 0) << planned.err;
  const json estimate = json::parse(planned.out);
  EXPECT_EQ(estimate["efficiency"], "mine");
  EXPECT_NEAR(estimate["iteration_seconds"].get<double>(), report["rows"][0]["iteration"]["fitted"].get<double>(),
              0.0011);
}

TEST(Calibrate, TheSameMeasurementsGiveTheSameFile) {
  const TemporaryFolder folder;
  const std::string runs = write_measurements(folder);
  for (const char* name : {"a.json", "b.json"})
    ASSERT_EQ(run_program({"calibrate", runs, "--evaluations", "60", "--seed", "3", "-o", folder.file(name)}).exit_code,
              0);
  EXPECT_EQ(content_of(folder.file("a.json")), content_of(folder.file("b.json")));
}

TEST(Calibrate, ErrorsHaveTheirLocation) {
  const TemporaryFolder folder;
  std::string text = measurements;
  text.replace(text.find("generation"), 10, "generate");
  const ProgramResult result =
      run_program({"calibrate", write_measurements(folder, text), "-o", folder.file("mine.json")});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, ContainsRegex("runs.yaml:5:[0-9]+: unknown key `generate` in `phases`"));
  EXPECT_EQ(content_of(folder.file("mine.json")), "");
  const std::string job =
      folder.write("calibrated.yaml", std::string(small_job) + "software: {efficiency: broken.json}\n");
  folder.write("broken.json", R"({"format": "dovetail/efficiency@1", "name": "x", "constants": {"slot": -1}})");
  const ProgramResult planned = run_program({"plan", job, "--plan", folder.file("plan.json")});
  EXPECT_EQ(planned.exit_code, 2);
  EXPECT_THAT(planned.err, HasSubstr("broken.json:1:72: `slot` must be a number from 0 to 0.1"));
}

TEST(Calibrate, StopsOnInterrupt) {
  const TemporaryFolder folder;
  const ProgramResult result =
      run_program({"calibrate", write_measurements(folder), "--evaluations", "1000000", "-o", folder.file("mine.json")},
                  {.interrupt_after = std::chrono::milliseconds(500)});
  EXPECT_EQ(result.exit_code, 130);
  EXPECT_THAT(result.err, HasSubstr("the best values so far"));
  EXPECT_THAT(content_of(folder.file("mine.json")), HasSubstr("dovetail/efficiency@1"));
}

}  // namespace

}  // namespace dovetail::cli
