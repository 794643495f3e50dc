#include "cli/failure.h"

#include <fmt/format.h>

#include "base/assert.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "parallel/mpi_module.h"

namespace dovetail::cli {

static_assert(exit_lost == parallel::dovetail_mpi_abort_code);

int exit_code_of(base::Failure failure) {
  switch (failure) {
    case base::Failure::bad_input:
      return exit_bad_input;
    case base::Failure::invalid:
    case base::Failure::io:
      return exit_invalid;
    case base::Failure::infeasible:
      return exit_infeasible;
    case base::Failure::lost:
      return exit_lost;
    case base::Failure::interrupted:
      return exit_interrupted;
  }
  DOVETAIL_ASSERT(false);
}

int report_failure(const base::Error& error, std::string_view program) {
  print_error(fmt::format("{}{}\n", error.path.empty() ? fmt::format("{}: ", program) : "", base::to_text(error)));
  return exit_code_of(error.failure);
}

}  // namespace dovetail::cli
