#include "cli/best_file.h"

#include <algorithm>
#include <utility>

#include "pipeline/validate.h"

namespace dovetail::cli {

BestFile::BestFile(std::string path, ScheduleFormat format, std::string title, const fuse::Bounds& bounds)
    : path_(std::move(path)), format_(format), title_(std::move(title)), bounds_(bounds) {}

void BestFile::take(const fuse::Solution& solution) {
  waiting_ = pipeline::to_schedule(solution.problem, solution.graph, solution.evaluation);
  waiting_->claims.bound_makespan = bounds_.makespan;
  waiting_->claims.optimal_makespan = solution.evaluation.makespan == bounds_.makespan;
  waiting_->claims.solver = solution.solver;
  catch_up();
}

void BestFile::catch_up() {
  const Clock::time_point begin = Clock::now();
  if (!waiting_ || begin < next_) return;
  DOVETAIL_ASSERT(!pipeline::validate(*waiting_).has_value());
  (void)write_schedule(*waiting_, title_, format_, path_);
  waiting_.reset();
  const Clock::time_point end = Clock::now();
  next_ = end + std::max<Clock::duration>(std::chrono::milliseconds(500), 10 * (end - begin));
}

}  // namespace dovetail::cli
