#include "parallel/exchange.h"

#include <dlfcn.h>
#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <mutex>
#include <system_error>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "parallel/mpi_module.h"

namespace dovetail::parallel {
namespace {

using base::Error;
using base::Failure;
using base::Result;

constexpr const char* how_to_get_mpi =
    "install libopenmpi-dev and openmpi-bin (Debian, Ubuntu), then reconfigure and rebuild Dovetail";

Error lost(std::string message) { return {Failure::lost, {}, 0, 0, "MPI: " + std::move(message)}; }

/// Returns the directories in the environment variable, in order.
std::vector<std::filesystem::path> configured_folders() {
  std::vector<std::filesystem::path> folders;
  const char* const variable = std::getenv("DOVETAIL_MODULE_PATH");
  std::string_view rest = variable ? variable : "";
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    if (end > 0) folders.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return folders;
}

std::vector<std::filesystem::path> module_folders() {
  std::vector<std::filesystem::path> folders = configured_folders();
  std::error_code ignored;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", ignored);
  if (!program.empty()) folders.push_back(program.parent_path() / DOVETAIL_MODULE_FOLDER_FROM_BIN);
  folders.emplace_back(DOVETAIL_MODULE_FOLDER);
  return folders;
}

Error no_module() {
  std::string folders;
  for (const auto& folder : module_folders())
    folders += (folders.empty() ? "" : ", ") + folder.lexically_normal().string();
  const std::string what =
      std::string("MPI cannot be used: ") + dovetail_mpi_module_file + " was not found in " + folders + "; ";
  if (!mpi_module_was_built()) return base::bad_input(what + "Dovetail was built without MPI: " + how_to_get_mpi);
  return base::bad_input(what + "set DOVETAIL_MODULE_PATH to the directory that contains it, or reinstall Dovetail");
}

Result<const DovetailMpiModule*> load_module() {
  const std::optional<std::string> file = find_mpi_module();
  if (!file) return no_module();
  // Open MPI's plug-ins need its symbols to be global. It cannot be unloaded, so this module is not unloaded either.
  void* const library = dlopen(file->c_str(), RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE);
  if (!library) {
    const char* const why = dlerror();
    return base::bad_input(*file + " cannot be loaded: " + (why ? why : "unknown reason") +
                           "; install openmpi-bin (Debian, Ubuntu) or another package with the MPI library that this "
                           "module was built with");
  }
  void* const symbol = dlsym(library, dovetail_mpi_module_symbol);
  const auto get_module = reinterpret_cast<const DovetailMpiModule* (*)()>(symbol);
  const DovetailMpiModule* const module = get_module ? get_module() : nullptr;
  if (!module || module->version != dovetail_mpi_module_version)
    return base::bad_input(
        *file + " belongs to another version of Dovetail; install the program and this module from the same build");
  return module;
}

/// Returns the number of processes that the launcher reports; 1 if it reports none.
int launched_processes() {
  int most = 1;
  for (const char* const name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"})
    if (const char* const value = std::getenv(name)) most = std::max(most, std::atoi(value));
  return most;
}

Result<std::vector<std::string>> gather(const DovetailMpiModule& module, int ranks, std::string_view message) {
  const char* gathered = nullptr;
  const std::int64_t* sizes = nullptr;
  if (!module.all_gather(message.data(), static_cast<std::int64_t>(message.size()), &gathered, &sizes))
    return lost(module.error());
  std::vector<std::string> messages;
  for (int rank = 0; rank < ranks; ++rank) {
    const auto size = static_cast<std::size_t>(sizes[rank]);
    messages.emplace_back(gathered, size);
    gathered += size;
  }
  return messages;
}

Result<Exchange> connect(double timeout_seconds) {
  DOVETAIL_TRY(const DovetailMpiModule* const module, load_module());
  std::int32_t rank = 0;
  std::int32_t ranks = 1;
  if (!module->connect(timeout_seconds, &rank, &ranks)) return lost(module->error());
  if (const int launched = launched_processes(); ranks == 1 && launched > 1)
    return base::bad_input(
        "MPI: the launcher started " + std::to_string(launched) +
        " processes, but each sees only itself: the launcher and Dovetail use different MPI libraries; use the mpirun "
        "of the MPI that Dovetail was built with, or srun --mpi=pmix");
  auto failure = std::make_shared<std::optional<Error>>();
  return Exchange{rank, ranks, [module, ranks, failure](std::string_view message) -> Result<std::vector<std::string>> {
                    if (*failure) return **failure;
                    auto messages = gather(*module, ranks, message);
                    if (!messages.ok()) *failure = messages.error();
                    return messages;
                  }};
}

}  // namespace

Result<Exchange> connect_by_mpi(double timeout_seconds) {
  if (!(timeout_seconds > 0)) return base::bad_input("the timeout for other processes must be above 0 seconds");
  static std::mutex once;
  static std::optional<Result<Exchange>> connected;
  const std::scoped_lock lock(once);
  if (!connected) connected = connect(timeout_seconds);
  return *connected;
}

std::optional<std::string> find_mpi_module() {
  for (const std::filesystem::path& folder : module_folders()) {
    std::error_code ignored;
    const std::filesystem::path file = (folder / dovetail_mpi_module_file).lexically_normal();
    if (std::filesystem::is_regular_file(file, ignored)) return std::filesystem::absolute(file, ignored).string();
  }
  return std::nullopt;
}

bool mpi_module_was_built() { return DOVETAIL_MPI_MODULE_WAS_BUILT != 0; }

namespace {

/// A message starts with a character for no failure or the kind of failure. The input or the error text follows.
constexpr char no_failure = '-';
constexpr char first_failure = 'A';

std::string message_of(const base::Result<std::string>& input) {
  if (input.ok()) return no_failure + *input;
  return static_cast<char>(first_failure + static_cast<int>(input.error().failure)) + to_text(input.error());
}

}  // namespace

base::Status agree_on_input(const Exchange& exchange, const base::Result<std::string>& input,
                            std::string_view another) {
  DOVETAIL_TRY(const std::vector<std::string> messages, exchange.all_gather(message_of(input)));
  // The first process reports its own error as if it ran alone.
  if (exchange.rank == 0 && !input.ok()) return input.error();
  for (std::size_t rank = 0; rank < messages.size(); ++rank) {
    const std::string_view message = messages[rank];
    if (message[0] != no_failure)
      return base::Error{static_cast<base::Failure>(message[0] - first_failure),
                         {},
                         0,
                         0,
                         fmt::format("rank {}: {}", rank, message.substr(1))};
  }
  for (std::size_t rank = 1; rank < messages.size(); ++rank)
    if (messages[rank] != messages[0])
      return base::bad_input(
          fmt::format("rank {} reads {} than rank 0; all ranks must read the same input", rank, another));
  return {};
}

void put(std::string& message, std::int64_t value) {
  char bytes[sizeof value];
  std::memcpy(bytes, &value, sizeof value);
  message.append(bytes, sizeof value);
}

std::int64_t take(std::string_view& message) {
  std::int64_t value = 0;
  DOVETAIL_ASSERT(message.size() >= sizeof value);
  std::memcpy(&value, message.data(), sizeof value);
  message.remove_prefix(sizeof value);
  return value;
}

}  // namespace dovetail::parallel
