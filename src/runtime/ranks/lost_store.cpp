#include "runtime/ranks/lost_store.h"

#include <fmt/format.h>

#include <cstdlib>
#include <exception>
#include <system_error>
#include <utility>

#include "cli/commands.h"
#include "cli/failure.h"
#include "runtime/ranks/rank_note.h"

namespace dovetail::runtime {
namespace {

/// What the end of the program needs to know.
struct EndingRank {
  int rank = 0;
  std::function<std::string()> phase;
};
/// It stays for threads that end after main.
EndingRank& ending() {
  static EndingRank* const rank = new EndingRank;
  return *rank;
}

[[noreturn]] void end_program() {
  try {
    if (const std::exception_ptr thrown = std::current_exception()) std::rethrow_exception(thrown);
  } catch (const std::system_error& error) {
    const base::Error lost{base::Failure::lost, "", 0, 0,
                           fmt::format("the store of the job does not answer: {}", error.what())};
    cli::report_failure(without_store(ending().rank, ending().phase(), lost), "dovetail-train");
    std::_Exit(cli::exit_lost);
  } catch (...) {
  }
  std::abort();
}

}  // namespace

void say_lost_store(int rank, std::function<std::string()> phase) {
  ending() = {rank, std::move(phase)};
  std::set_terminate(end_program);
}

}  // namespace dovetail::runtime
