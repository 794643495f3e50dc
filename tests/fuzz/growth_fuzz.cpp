// Parses growth of lengths, as a table and as option text. Checks that steps ascend and that each step has lengths.
#include <cmath>
#include <cstddef>
#include <string_view>

#include "fuzz.h"
#include "study/growth.h"

namespace study = dovetail::study;

namespace {

void check(const study::Growth& growth) {
  for (std::size_t point = 0; point < growth.points.size(); ++point) {
    const auto& [step, value] = growth.points[point];
    DOVETAIL_ASSERT(step >= 0 && step <= study::max_step_number && value > 0 && std::isfinite(value));
    DOVETAIL_ASSERT(point == 0 || growth.points[point - 1].step < step);
  }
  const auto lengths = dovetail::workflow::LengthDistribution::fixed(100);
  const auto grown = study::LengthGrowth::of(lengths, growth, 4096);
  if (!grown.ok()) return;
  for (const study::GrowthPoint& point : growth.points)
    DOVETAIL_ASSERT(grown->at(static_cast<double>(point.step)).longest() <= 4096);
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = dovetail::fuzz::as_text(data, size);
  if (const auto table = study::parse_growth_table(text, "input"); table.ok()) check(*table);
  if (const auto option = study::parse_growth(text, study::GrowthFigure::factor); option.ok()) check(*option);
  return 0;
}
