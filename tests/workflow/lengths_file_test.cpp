#include "workflow/lengths_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "workflow/log_normal.h"

namespace dovetail::workflow {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

base::Result<LengthDistribution> read(const std::string& value, const std::string& directory = {}) {
  const base::Document document = base::parse_yaml("response_length: " + value, "job.yaml").value();
  return read_lengths(document.root().value(0), "`response_length`", directory);
}

std::string error_of(const std::string& value, const std::string& directory = {}) {
  const auto result = read(value, directory);
  return result.ok() ? "no error" : base::to_text(result.error());
}

std::string table_error(const std::string& content, std::string_view column = {}) {
  const auto result = parse_length_table(content, "l", column);
  return result.ok() ? "no error" : base::to_text(result.error());
}

TEST(ReadLengths, ReadsEveryForm) {
  EXPECT_EQ(read("512").value(), LengthDistribution::fixed(512));
  EXPECT_EQ(read("{p50: 800, p90: 2100, p99: 3900, cap: 4096}").value(),
            log_normal_lengths({.p50 = 800, .p90 = 2100, .p99 = 3900, .cap = 4096}));
  EXPECT_EQ(read("{p50: 800, cap: 4096, at_cap: 0.03}").value(),
            log_normal_lengths({.p50 = 800, .cap = 4096, .at_cap = 0.03}));
  EXPECT_EQ(read("{mean: 1060, sigma: +0.8, cap: 4096}").value(),
            log_normal_lengths({.mean = 1060, .sigma = 0.8, .cap = 4096}));
  EXPECT_EQ(read("{mean: 1060.5, sigma: 8e-1}").value(), log_normal_lengths({.mean = 1060.5, .sigma = 0.8}));
}

TEST(ReadLengths, ReportsMistakes) {
  const std::string fixed = "`response_length` must be an integer from 1 to 16777216, not ";
  EXPECT_EQ(error_of("0"), "job.yaml:1:18: " + fixed + "0");
  EXPECT_EQ(error_of("5.5"), "job.yaml:1:18: " + fixed + "5.5");
  EXPECT_EQ(error_of("long"),
            "job.yaml:1:18: `response_length` is the string `long`; accepted: a number of tokens, statistics such as "
            "{p50: 800, p90: 2100}, or {file: PATH}");
  EXPECT_EQ(error_of("{p50: 800, p95: 1}"),
            "job.yaml:1:29: unknown key `p95` in `response_length`; did you mean `p90`? accepted: p50, p90, p99, mean, "
            "sigma, cap, at_cap, "
            "file, column");
  EXPECT_EQ(error_of("{p50: many}"),
            "job.yaml:1:24: `p50` of `response_length` must be a number from 1 to 16777216, not the string `many`");
  EXPECT_EQ(error_of("{p50: 1e400}"),
            "job.yaml:1:24: `p50` of `response_length` must be a number from 1 to 16777216, not 1e400");
  EXPECT_EQ(error_of("{sigma: -1}"),
            "job.yaml:1:26: `sigma` of `response_length` must be a number from 0 to 5, not -1");
  EXPECT_EQ(error_of("{p50: 800, cap: 4096.5}"),
            "job.yaml:1:34: `cap` of `response_length` must be an integer from 1 to 16777216, not 4096.5");
  EXPECT_EQ(error_of("{p50: 800, p90: 500}"),
            "job.yaml:1:34: `response_length`: `p90` is 500; accepted: at least 800 (`p50`)");
  EXPECT_EQ(
      error_of("{p50: 800, cap: 4096}"),
      "job.yaml:1:18: `response_length`: the given values are not enough to determine the lengths; accepted: two or "
      "more of p50, p90, p99, mean, at_cap (with cap), or sigma with one of them; values at the cap count once");
}

TEST(ReadLengths, ReadsAFileNextToTheJob) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "dovetail_lengths";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "lengths.csv") << "prompt_tokens,response_tokens\n10,100\n10,300\n12,100\n";
  std::ofstream(folder / "bad.csv") << "tokens\n1\nx\n";
  const LengthDistribution distribution = read("{file: lengths.csv, column: response_tokens}", folder.string()).value();
  EXPECT_THAT(distribution.points(), ElementsAre(LengthPoint{100, 2}, LengthPoint{300, 1}));
  EXPECT_EQ(
      read("{file: " + (folder / "lengths.csv").string() + ", column: prompt_tokens}", "elsewhere").value().longest(),
      12);
  EXPECT_EQ(error_of("{file: bad.csv}", folder.string()),
            (folder / "bad.csv").string() + ":3:1: the length is `x`; accepted: an integer from 0 to 16777216");
  const auto missing = read("{file: none.csv}", folder.string());
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().failure, base::Failure::io);
  EXPECT_EQ(base::to_text(missing.error()),
            "job.yaml:1:25: " + (folder / "none.csv").string() + ": cannot be read: No such file or directory");
}

TEST(ReadLengths, ReportsMistakesInFileNames) {
  EXPECT_EQ(error_of("{file: 3}"),
            "job.yaml:1:25: `file` of `response_length` is 3; accepted: the path of a CSV or JSONL file");
  EXPECT_EQ(error_of("{file: a, column: 3}"),
            "job.yaml:1:36: `column` of `response_length` is 3; accepted: the name of a column or key");
  EXPECT_EQ(error_of("{file: a, p50: 3}"),
            "job.yaml:1:28: unknown key `p50` in `response_length`; accepted: file, column");
}

TEST(LengthTable, ReadsCsv) {
  const auto points = [](const std::string& content, std::string_view column = {}) {
    return parse_length_table(content, "l", column).value().points();
  };
  const auto expected = ElementsAre(LengthPoint{5, 1}, LengthPoint{7, 2});
  EXPECT_THAT(points("length\n7\n5\n7\n"), expected);
  EXPECT_THAT(points("anything\r\n\r\n7\r\n5.0\r\n7e0"), expected);
  EXPECT_THAT(points("7\n5\n7\n"), expected) << "no header";
  EXPECT_THAT(points("\xEF\xBB\xBFid,\"response_length\"\na, 7\nb,5\nc,\"7\"\n"), expected);
  EXPECT_THAT(points("id,n,m\na,7,1\nb,5,1\nc,7,1\n", "n"), expected);
  EXPECT_THAT(points("7\n5\n5\n", "7"), ElementsAre(LengthPoint{5, 1})) << "a column name may be a number";
}

TEST(LengthTable, ReadsJsonLines) {
  const auto points = [](const std::string& content, std::string_view column = {}) {
    return parse_length_table(content, "l", column).value().points();
  };
  const auto expected = ElementsAre(LengthPoint{5, 1}, LengthPoint{7, 2});
  EXPECT_THAT(points("{\"n\": 7}\n{\"n\": 5}\r\n\n{\"n\": 7.0}"), expected);
  EXPECT_THAT(points("\n{\"text\": \"a\", \"n\": 7}\n{\"n\": 5, \"text\": \"n\"}\n{\"n\": 7, \"more\": []}\n"),
              expected);
  EXPECT_THAT(points("{\"prompt_tokens\": 1, \"reply\": 7}\n{\"reply\": 5}\n{\"reply\": 7}\n", "reply"), expected);
}

TEST(LengthTable, ReportsMistakesInCsv) {
  const std::string accepted = "; accepted: an integer from 0 to 16777216";
  EXPECT_EQ(table_error(""), "l:1:1: the file is empty; accepted: a header and a row for each length");
  EXPECT_EQ(table_error("length\n"), "l:1:1: there are no lengths; accepted: at least one length greater than 0");
  EXPECT_EQ(table_error("length\n0\n0\n"), "l:1:1: all lengths are 0; accepted: at least one length greater than 0");
  EXPECT_EQ(table_error("id,length\na,-1\n"), "l:2:3: the length is `-1`" + accepted);
  EXPECT_EQ(table_error("id,length\na,5.5\n"), "l:2:3: the length is `5.5`" + accepted);
  EXPECT_EQ(table_error("id,length\na,\n"), "l:2:3: the length is ``" + accepted);
  EXPECT_EQ(table_error("id,length\na,16777217\n"), "l:2:3: the length is `16777217`" + accepted);
  EXPECT_EQ(table_error("id,length\na\n"), "l:2:1: the number of cells is 1; accepted: 2 (as in the first row)");
  EXPECT_EQ(
      table_error("a,b\n1,2\n"),
      "l:1:1: exactly one column must have `length` or `tokens` in its name, unless `column` chooses one; accepted: "
      "one of a, b");
  EXPECT_EQ(
      table_error("prompt_tokens,response_tokens\n1,2\n"),
      "l:1:1: exactly one column must have `length` or `tokens` in its name, unless `column` chooses one; accepted: "
      "one of prompt_tokens, response_tokens");
  EXPECT_EQ(table_error("prompt,response\n1,2\n", "responses"),
            "l:1:1: there is no column `responses`; did you mean 'response'?; accepted: one of prompt, response");
  EXPECT_EQ(table_error("n,n\n1,2\n", "n"), "l:1:1: the column `n` appears twice; accepted: once");
  EXPECT_EQ(table_error("length\n\"5\n"), "l:2:1: unterminated quote; a cell that begins with \" must end with \"");
}

TEST(LengthTable, ReportsMistakesInJsonLines) {
  const std::string accepted = "; accepted: an integer from 0 to 16777216";
  EXPECT_EQ(table_error("{\"n\": 5}\n\n{\"n\": \"5\"}\n"), "l:3:7: the length is the string `5`" + accepted);
  EXPECT_EQ(table_error("{\"n\": 5}\n{\"m\": 5}\n"), "l:2:1: the object needs the key `n`");
  EXPECT_EQ(table_error("{\"n\": 5}\n[5]\n"), "l:2:1: the line is a list; accepted: a JSON object on each line");
  EXPECT_EQ(
      table_error("{\"n\": 5, \"m\": 1}\n"),
      "l:1:1: exactly one column must have `length` or `tokens` in its name, unless `column` chooses one; accepted: "
      "one of n, m");
  EXPECT_EQ(table_error("{\"n\": 5}\n", "m"), "l:1:1: there is no column `m`; did you mean 'n'?; accepted: one of n");
  EXPECT_EQ(table_error("{\"text\": \"a\"}\n"),
            "l:1:1: the object has no key with a number; accepted: a key with the length");
  EXPECT_THAT(table_error("{\"n\": 5}\n{\"n\": 5\n"), HasSubstr("l:2:8: not valid JSON"));
}

}  // namespace
}  // namespace dovetail::workflow
