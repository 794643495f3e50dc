// Parses logs of training runs. Checks that steps ascend, and that a measurement counts some of them.
#include <algorithm>
#include <string>

#include "fuzz.h"
#include "measure/measured.h"

namespace measure = dovetail::measure;
namespace trainers = dovetail::trainers;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto log =
      trainers::read_step_log({{std::string(dovetail::fuzz::as_text(data, size)), "run-tag-timing_s_gen.csv"}});
  if (!log.ok()) {
    DOVETAIL_ASSERT(!log.error().message.empty());
    return 0;
  }
  for (const trainers::LoggedSeries& series : log->series) {
    const auto falls = [](const trainers::LoggedValue& a, const trainers::LoggedValue& b) { return a.step >= b.step; };
    DOVETAIL_ASSERT(!series.values.empty());
    DOVETAIL_ASSERT(std::adjacent_find(series.values.begin(), series.values.end(), falls) == series.values.end());
  }
  const auto run = measure::measured_run(*log);
  if (!run.ok()) {
    DOVETAIL_ASSERT(!run.error().message.empty());
    return 0;
  }
  DOVETAIL_ASSERT(!run->steps.empty());
  for (const measure::MeasuredTime& time : run->times)
    DOVETAIL_ASSERT(time.spread.steps > 0 && time.spread.min <= time.spread.max);
  return 0;
}
