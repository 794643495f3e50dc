#include "cost/efficiency.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dovetail::cost {

namespace {

using testing::HasSubstr;

std::string error_of(const std::string& content) {
  const auto read = parse_efficiency(content, "set.json");
  return read.ok() ? "" : base::to_text(read.error());
}

TEST(EfficiencyFile, RoundTrips) {
  for (const std::string_view name : efficiency_names()) {
    Efficiency written = find_efficiency(name).value();
    written.links.inside.half_size = 1.25e6;
    const std::string text = efficiency_to_json(written);
    Efficiency read = parse_efficiency(text, "set.json").value();
    EXPECT_EQ(read.name, name);
    EXPECT_EQ(read.error, written.error);
    for (const EfficiencyConstant& constant : efficiency_constants())
      EXPECT_EQ(constant.of(read), constant.of(written)) << constant.name;
    EXPECT_EQ(efficiency_to_json(read), text);
  }
}

TEST(EfficiencyFile, MissingConstantsKeepTheirDefaults) {
  const Efficiency read =
      parse_efficiency("{format: dovetail/efficiency@1, name: x, constants: {slot: 0.002, task: 0}}", "set.yaml")
          .value();
  EXPECT_EQ(read.name, "x");
  EXPECT_EQ(read.slot, 0.002);
  EXPECT_EQ(read.task, 0);
  EXPECT_EQ(read.error, Efficiency{}.error);
  EXPECT_EQ(read.matrix_products, Efficiency{}.matrix_products);
}

TEST(EfficiencyFile, ErrorsHaveLineAndColumn) {
  const std::string begin = "format: dovetail/efficiency@1\nname: x\n";
  EXPECT_THAT(error_of(begin + "constants: {slott: 1}"),
              HasSubstr("set.json:3:13: unknown key `slott` in `constants`; did you mean `slot`?"));
  EXPECT_THAT(error_of(begin + "constants: {matrix_products: 0}"),
              HasSubstr("set.json:3:30: `matrix_products` must be a number from 0.1 to 0.85"));
  EXPECT_THAT(error_of(begin + "constants: {slot: 1e-9}"),
              HasSubstr("set.json:3:19: `slot` is 1e-9; accepted: 0, or from 1e-05 to 0.1"));
  EXPECT_THAT(error_of(begin), HasSubstr("constants"));
  EXPECT_THAT(error_of("format: dovetail/efficiency@2\nname: x\n"), HasSubstr("set.json:1:9: `format` is"));
  EXPECT_THAT(error_of("format: dovetail/efficiency@1\nname: 3\nconstants: {}"),
              HasSubstr("set.json:2:7: `name` is 3"));
}

}  // namespace

}  // namespace dovetail::cost
