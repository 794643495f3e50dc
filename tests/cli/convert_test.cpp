#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "cli/run_program.h"

namespace dovetail::cli {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

std::string trace_of(const std::string& instance) {
  return repository_file("tests/data/flexfusion/trace_" + instance + ".txt");
}

TEST(Convert, TraceToJsonAndBackKeepsEveryOp) {
  const TemporaryFolder folder;
  ASSERT_EQ(run_program({"convert", trace_of("exp2"), folder.file("a.json"), "--problem", "exp2"}).exit_code, 0);
  ASSERT_EQ(run_program({"convert", folder.file("a.json"), folder.file("a.txt")}).exit_code, 0);
  ASSERT_EQ(run_program({"convert", folder.file("a.txt"), folder.file("b.json"), "--problem", "exp2"}).exit_code, 0);
  const json first = json::parse(content_of(folder.file("a.json")));
  const json second = json::parse(content_of(folder.file("b.json")));
  EXPECT_EQ(first["devices"], second["devices"]);
  EXPECT_EQ(first["problem"], second["problem"]);
}

TEST(Convert, ReadsBothKindsOfCsvAsCsv) {
  const TemporaryFolder folder;
  const std::string problem = folder.write("p.yaml", small_problem);
  const std::string schedule = run_program({"schedule", problem, "--solver", "1f1b", "-o", "-"}).out;
  const std::string path =
      folder.write("a.csv", run_program({"convert", "-", "-", "--to", "csv"}, {.input = schedule}).out);
  for (const char* from : {"csv", "csv-comms"}) {
    const ProgramResult result =
        run_program({"convert", path, folder.file("a.json"), "--from", from, "--problem", problem, "--json"});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(json::parse(result.out)["from"], "csv");
  }
}

TEST(Convert, ReportsWrittenFiles) {
  const TemporaryFolder folder;
  const std::string path = folder.file("a.svg");
  const ProgramResult text = run_program({"convert", trace_of("exp5"), path, "--problem", "exp5"});
  EXPECT_EQ(text.exit_code, 0);
  EXPECT_EQ(text.out, "written: " + path + " (svg)\n");
  const ProgramResult result = run_program({"convert", trace_of("exp5"), path, "--problem", "exp5", "--json"});
  EXPECT_EQ(json::parse(result.out), json({{"format", "dovetail/convert@1"},
                                           {"from", "trace"},
                                           {"to", "svg"},
                                           {"notes", json::array()},
                                           {"written", {path}}}));
}

TEST(Convert, WritesValidProgramsForEachRank) {
  const TemporaryFolder folder;
  const std::string schedule = folder.file("a.json");
  ASSERT_EQ(
      run_program({"schedule", folder.write("p.yaml", small_problem), "--solver", "1f1b", "-o", schedule}).exit_code,
      0);
  const std::string programs = folder.file("programs/");
  const ProgramResult written = run_program({"convert", schedule, programs});
  ASSERT_EQ(written.exit_code, 0) << written.err;
  EXPECT_THAT(written.out, HasSubstr("rank-1.json (programs)"));
  const ProgramResult valid = run_program({"check", programs});
  EXPECT_EQ(valid.exit_code, 0) << valid.err;
  EXPECT_THAT(valid.out, HasSubstr("2 programs, free of deadlocks with buffered, tag-matched and in-order messages\n"));
  EXPECT_EQ(run_program({"check", programs, "--problem", "exp1"}).exit_code, 2);

  std::string damaged = content_of(programs + "rank-1.json");
  const std::size_t wait = damaged.find("\n  [\"wait\"");
  ASSERT_NE(wait, std::string::npos);
  damaged.erase(wait, damaged.find('\n', wait + 1) - wait);
  ASSERT_TRUE(base::write_file(programs + "rank-1.json", damaged).ok());
  const ProgramResult invalid = run_program({"check", programs});
  EXPECT_EQ(invalid.exit_code, 1);
  EXPECT_THAT(invalid.err, AllOf(HasSubstr("rank-1.json:"), HasSubstr("before its input has arrived")));
  EXPECT_EQ(run_program({"convert", schedule, "-", "--to", "programs"}).exit_code, 2);
}

TEST(Convert, WritesACsvForEachPipeline) {
  const TemporaryFolder folder;
  const ProgramResult result = run_program({"convert", trace_of("exp2"), folder.file("plan.csv"), "--problem", "exp2"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(folder.size(), 3U);
  for (const char* name : {"plan-33B-r0.csv", "plan-13B-r0.csv", "plan-13B-r1.csv"}) {
    EXPECT_THAT(content_of(folder.file(name)), HasSubstr("F0"));
    EXPECT_THAT(result.out, HasSubstr("written: " + folder.file(name) + " (csv)\n"));
  }
}

TEST(Convert, RejectsSeveralPipelinesOnStandardOutput) {
  const ProgramResult result = run_program({"convert", trace_of("exp2"), "-", "--to", "csv", "--problem", "exp2"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.err,
            "dovetail: CSV needs one file per pipeline, and this schedule has 3 pipelines; write it to a file instead "
            "of '-'\n");
  EXPECT_THAT(result.out, IsEmpty());
}

TEST(Convert, WritesSendsAndReceives) {
  const std::string schedule =
      run_program({"schedule", "-", "--solver", "1f1b", "-o", "-"}, {.input = small_problem}).out;
  const ProgramResult result = run_program({"convert", "-", "-", "--to", "csv-comms"}, {.input = schedule});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.out, AllOf(HasSubstr("0SEND_F0"), HasSubstr("1RECV_F0"), HasSubstr("0RECV_B0")));
}

TEST(Convert, WritesAChromeTrace) {
  const ProgramResult result = run_program({"convert", trace_of("exp5"), "-", "--to", "chrome", "--problem", "exp5"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_TRUE(json::parse(result.out).contains("traceEvents"));
}

TEST(Convert, DoesNotWriteAnInvalidSchedule) {
  const TemporaryFolder folder;
  const ProgramResult result = run_program({"convert", trace_of("exp5"), folder.file("a.json"), "--problem", "exp4"});
  EXPECT_NE(result.exit_code, 0);
  EXPECT_EQ(folder.size(), 0U);
  EXPECT_THAT(result.err, HasSubstr("trace_exp5.txt:"));
}

TEST(Convert, RejectsTwoOutputsOnStandardOutput) {
  const ProgramResult result = run_program({"convert", trace_of("exp5"), "-", "--json"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.err, "dovetail: --json and output '-' cannot be combined: both write to standard output\n");
}

TEST(Convert, CsvNeedsAProblemWithOnePipeline) {
  const TemporaryFolder folder;
  const std::string path = folder.write("a.csv", "0F0,0B0\n");
  const ProgramResult none = run_program({"convert", path, folder.file("a.json")});
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_EQ(none.err.substr(none.err.rfind(path)),
            path + ": a CSV holds the order of ops but no times; give its problem with --problem PROBLEM\n");
  const ProgramResult several = run_program({"convert", path, folder.file("a.json"), "--problem", "exp5"});
  EXPECT_EQ(several.exit_code, 2);
  EXPECT_EQ(several.err,
            path +
                ": a PyTorch CSV holds one pipeline, but the problem has 2; write the problem to a file with dovetail "
                "problem -o FILE, keep one model and one replica in it, and pass the file with --problem\n");
  EXPECT_EQ(folder.size(), 1U);
}

}  // namespace
}  // namespace dovetail::cli
