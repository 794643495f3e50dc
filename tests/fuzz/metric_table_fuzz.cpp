// Parses rows of metrics.jsonl. Checks that points are in order of iterations, and that a second parse gives the same
// result.
#include "fuzz.h"
#include "records/metric_table.h"

namespace records = dovetail::records;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view content = dovetail::fuzz::as_text(data, size);
  const auto table = records::parse_metrics(content, "input");
  if (!table.ok()) {
    DOVETAIL_ASSERT(!table.error().message.empty() && table.error().line >= 1);
    return 0;
  }
  for (const records::MetricColumn& column : table->columns()) {
    DOVETAIL_ASSERT(table->find(column.name) == &column);
    std::int64_t last = -1;
    for (const records::MetricPoint& point : column.points) {
      DOVETAIL_ASSERT(last < point.iteration);
      last = point.iteration;
    }
    DOVETAIL_ASSERT(static_cast<std::int64_t>(column.points.size()) <= table->rows());
  }
  // An incomplete last row adds nothing.
  const bool is_ended = content.empty() || content.back() == '\n';
  if (is_ended) {
    const auto growing = records::parse_metrics(std::string(content) + "{\"iteration\": ", "input");
    DOVETAIL_ASSERT(!growing.ok() || growing->rows() == table->rows());
  }
  return 0;
}
