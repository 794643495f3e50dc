#include "cli/progress_line.h"

#include <algorithm>
#include <cstdio>
#include <numeric>

#include "answer/text/text.h"
#include "cli/output.h"

namespace dovetail::cli {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds terminal_interval{100};
constexpr std::chrono::milliseconds plain_interval{5000};

/// Width in columns of the fields of rank 0.
std::size_t min_width(const std::vector<ProgressField>& fields) {
  std::size_t width = 0;
  for (const ProgressField& field : fields) width += field.rank == 0 ? answer::count_code_points(field.text) : 0;
  return width;
}

}  // namespace

std::string fit_fields(const std::vector<ProgressField>& fields, std::size_t columns) {
  std::vector<std::size_t> order(fields.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&fields](std::size_t a, std::size_t b) { return fields[a].rank < fields[b].rank; });
  std::size_t width = 0;
  std::size_t shown = 0;
  for (; shown < order.size(); ++shown) {
    width += answer::count_code_points(fields[order[shown]].text);
    if (width > columns) break;
  }
  order.resize(shown);
  std::sort(order.begin(), order.end());
  std::string line;
  for (const std::size_t field : order) line += fields[field].text;
  return line;
}

ProgressLine::ProgressLine(std::string label, PlainLines plain)
    : label_(std::move(label)), plain_(plain), on_terminal_(stderr_is_terminal()) {
  next_ = on_terminal_ ? Clock::now() : Clock::now() + plain_interval;
}

ProgressLine::~ProgressLine() {
  if (visible_) rewrite_line("");
}

void ProgressLine::update(const answer::Figures& figures) {
  if ((on_terminal_ || plain_ == PlainLines::every_few_seconds) && is_due()) show(figures());
}

/// Whether the interval since the last line is over. If so, restarts it.
bool ProgressLine::is_due() {
  if (Clock::now() < next_) return false;
  next_ = Clock::now() + (on_terminal_ ? terminal_interval : plain_interval);
  return true;
}

void ProgressLine::update(std::string_view text) {
  if (on_terminal_) show({{std::string(text)}});
}

void ProgressLine::show(std::vector<ProgressField> fields) {
  fields.insert(fields.begin(), {label_ + ": "});
  if (!on_terminal_) {
    print_error(fit_fields(fields, std::string::npos) + "\n");
    return;
  }
  const auto columns = static_cast<std::size_t>(stderr_columns() - 1);
  // Omit a long label: a file name must not displace the figures.
  if (min_width(fields) > columns) fields.erase(fields.begin());
  rewrite_line(fit_fields(fields, columns));
  std::fflush(stderr);
  visible_ = true;
}

}  // namespace dovetail::cli
