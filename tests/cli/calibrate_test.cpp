// dovetail calibrate: efficiencies from measured runs, and the error that is left.
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

constexpr const char* measurements = R"(format: dovetail/measurement@1
name: mine
fit: [matrix_products, decode_step]
rows:
  - {name: short, group: a, job: job.yaml, plan: plan.json, seconds: 14, phases: {generation: 7}}
  - {name: long, group: b, job: job.yaml, plan: plan.json, seconds: 15}
  - {name: odd, job: job.yaml, plan: plan.json, seconds: 99, doubtful: the clock stood still}
)";

/// The paths of a folder with measurements, and of the job and the plan that they name.
std::string write_measurements(const TemporaryFolder& folder, const std::string& text = measurements) {
  folder.write("job.yaml", small_job);
  folder.write("plan.json", small_plan);
  return folder.write("runs.yaml", text);
}

TEST(Calibrate, SaysWhatErrorIsLeft) {
  const TemporaryFolder folder;
  const ProgramResult result = run_program({"calibrate", write_measurements(folder), "--evaluations", "100"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  EXPECT_THAT(result.out, HasSubstr("mine; 2 values fitted to 2 rows\n"));
  EXPECT_THAT(result.out,
              ContainsRegex("\nshort +14 +[0-9.]+ +[+-][0-9.]+% +[+-][0-9.]+% +7: [0-9.]+ \\([+-][0-9.]+%\\)"));
  EXPECT_THAT(result.out, ContainsRegex("\nshort +generation +7 +50% +[0-9.]+ +[+-][0-9.]+% +[+-][0-9.]+%\n"));
  EXPECT_THAT(result.out, ContainsRegex("\nodd +99 +[0-9.]+ +-[0-9.]+%.* the clock stood still\n"));
  EXPECT_THAT(result.out, ContainsRegex("\nmean absolute error: fitted [0-9.]+%, cross-validated [0-9.]+%\n"));
  EXPECT_THAT(result.out, ContainsRegex("\nmatrix_products +0.45 +0\\.[0-9]+"));
}

TEST(Calibrate, OneRowSaysNothingOfOtherRuns) {
  const TemporaryFolder folder;
  std::string text = measurements;
  const std::size_t second = text.find("  - {name: long");
  text.erase(second, text.find('\n', second) + 1 - second);
  const std::string path = folder.file("mine.json");
  const ProgramResult result =
      run_program({"calibrate", write_measurements(folder, text), "--evaluations", "200", "-o", path});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, ContainsRegex("\nmean absolute error: fitted [0-9.]+%\n"));
  EXPECT_THAT(result.out, HasSubstr("no cross-validation: assuming a prediction error of 25.0%, "
                                    "the error before the fit\n"));
  EXPECT_EQ(json::parse(content_of(path))["error"], 0.25) << "what is assumed of software that nobody has measured";
}

TEST(Calibrate, WritesWhatAJobMayName) {
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

TEST(Calibrate, MistakesHaveTheirPlace) {
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
