#include "records/sample_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "records/run_folder.h"
#include "support/temporary_folder.h"

namespace dovetail::records {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

std::string row_at(std::int64_t iteration, double reward, bool ended) {
  control::Sample sample;
  sample.sequence = {{1, 2, 3, 4, 5}, 2};
  sample.text = "<answer>\n";
  sample.reward = reward;
  sample.ended = ended;
  return row_of(iteration, sample, "a \"prompt\"");
}

std::vector<SampleRow> rows_in(const std::string& content) {
  return parse_last_samples(content, "samples.jsonl").value();
}

TEST(SampleRows, AreThoseOfTheLastIteration) {
  const auto rows = rows_in(row_at(1, 9, true) + row_at(2, 0.5, true) + row_at(2, std::nan(""), false));
  ASSERT_THAT(rows, SizeIs(2));
  EXPECT_EQ(rows[0].iteration, 2);
  EXPECT_EQ(rows[0].prompt, "a \"prompt\"");
  EXPECT_EQ(rows[0].response, "<answer>\n");
  EXPECT_EQ(rows[0].tokens, 3);
  EXPECT_EQ(rows[0].reward, 0.5);
  EXPECT_TRUE(rows[0].ended);
  EXPECT_TRUE(std::isnan(rows[1].reward));
  EXPECT_FALSE(rows[1].ended);
}

TEST(SampleRows, SkipAnIncompleteLastLine) {
  const std::string half = row_at(2, 1, true);
  EXPECT_EQ(rows_in(row_at(1, 9, true) + half.substr(0, half.size() / 2)).at(0).iteration, 1);
  EXPECT_THAT(rows_in(half.substr(0, 5)), IsEmpty());
  EXPECT_THAT(rows_in(""), IsEmpty());
}

TEST(SampleRows, AcceptRowsWithoutTheTextOfThePrompt) {
  const auto rows = rows_in("{\"iteration\": 3, \"prompt\": 17, \"reward\": 1, \"text\": \"x\"}\n");
  EXPECT_EQ(rows.at(0).prompt, "");
  EXPECT_EQ(rows.at(0).response, "x");
}

TEST(SampleRows, ErrorsNameTheLine) {
  const auto rows = parse_last_samples(row_at(1, 1, true) + "{\"iteration\": 2}\n", "samples.jsonl");
  ASSERT_FALSE(rows.ok());
  EXPECT_THAT(base::to_text(rows.error()), HasSubstr("samples.jsonl:2:"));
}

TEST(SampleRows, AreEmptyWithoutAFile) {
  const test::TemporaryFolder folder;
  EXPECT_THAT(read_last_samples(folder.file("samples.jsonl")).value(), IsEmpty());
  EXPECT_THAT(read_last_samples(folder.write("some.jsonl", row_at(4, 1, true))).value(), SizeIs(1));
}

}  // namespace
}  // namespace dovetail::records
