#include "cli/best_file.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "cli/output_file.h"

namespace dovetail::cli {

bool can_be_rewritten(const std::string& path) {
  if (is_standard_output(path)) return false;
  std::error_code ignored;
  const auto status = std::filesystem::status(path, ignored);
  return !std::filesystem::exists(status) || std::filesystem::is_regular_file(status);
}

void BestFile::take(std::function<void()> write) {
  waiting_ = std::move(write);
  catch_up();
}

void BestFile::catch_up() {
  const Clock::time_point begin = Clock::now();
  if (!waiting_ || begin < next_) return;
  waiting_();
  waiting_ = nullptr;
  const Clock::time_point end = Clock::now();
  next_ = end + std::max<Clock::duration>(std::chrono::milliseconds(500), 10 * (end - begin));
}

}  // namespace dovetail::cli
