// Checks that the schedule is identical to the byte for any number of threads and ranks: two threads against one, with
// the speed-up, and four MPI ranks against one process with the same chains. Runs the dovetail program next to this
// one.
#include <fmt/core.h>
#include <sys/wait.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/file.h"
#include "base/stopwatch.h"
#include "report/text/table.h"
#include "tables.h"

namespace {

using namespace dovetail;

struct Options {
  int chains = 8;
  std::int64_t iterations = 0;  ///< 0: the program's default
  int ranks = 4;
  std::string program;
  std::string launcher = "mpirun -n {ranks} --oversubscribe --allow-run-as-root --bind-to none";
  std::string extra;
  std::vector<std::string> names;
};

struct Timed {
  bool done = false;
  double seconds = 0;
  std::string file;     ///< output of the run
  std::string message;  ///< first line of its message if it failed
};

std::string read_or_empty(const std::filesystem::path& path) {
  const auto content = base::read_file(path.string());
  return content.ok() ? *content : "";
}

/// Returns the first line of a failed run's output.
std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

Timed run_command(const std::string& command, const std::filesystem::path& folder) {
  const std::filesystem::path output = folder / "schedule.json";
  const std::filesystem::path output_file = folder / "output.txt";
  std::filesystem::remove(output);
  const auto begin = std::chrono::steady_clock::now();
  const int status =
      std::system(fmt::format("{} -o '{}' >'{}' 2>&1", command, output.string(), output_file.string()).c_str());
  Timed timed;
  timed.seconds = base::seconds_since(begin);
  timed.file = read_or_empty(output);
  timed.done = WIFEXITED(status) && WEXITSTATUS(status) == 0 && !timed.file.empty();
  if (!timed.done) timed.message = first_line(read_or_empty(output_file));
  return timed;
}

std::string schedule_command(const std::string& instance, const Options& options, int threads) {
  std::string command =
      fmt::format("'{}' schedule {} --chains {} --threads {}", options.program, instance, options.chains, threads);
  if (options.iterations > 0) command += fmt::format(" --iterations {}", options.iterations);
  return options.extra.empty() ? command : command + " " + options.extra;
}

std::string replaced(std::string text, std::string_view key, const std::string& value) {
  const std::size_t at = text.find(key);
  return at == std::string::npos ? text : text.replace(at, key.size(), value);
}

struct Case {
  std::string instance;
  std::string what;
  double min_speed_up = 0;  ///< 0: not required
};

/// Adds the row that compares `other` with `one`. Returns whether the bytes are identical and the speed-up is reached.
bool add_row(std::vector<std::vector<std::string>>& rows, const Case& compared, const Timed& one, const Timed& other) {
  std::vector<std::string> row{compared.instance, compared.what, bench::seconds_text(one.seconds)};
  if (!one.done || !other.done) {
    row.insert(row.end(), {"-", "-", "failed: " + (one.done ? other.message : one.message), "NO"});
    rows.push_back(std::move(row));
    return false;
  }
  const bool same = one.file == other.file;
  const double speed_up = one.seconds / other.seconds;
  const bool met = same && speed_up >= compared.min_speed_up;
  row.insert(row.end(), {bench::seconds_text(other.seconds), fmt::format("{:.2f}", speed_up),
                         same ? "same bytes" : "DIFFERENT", bench::yes_or_no(met)});
  rows.push_back(std::move(row));
  bench::note(fmt::format("{} {}: {}", compared.instance, compared.what, rows.back()[5]));
  return met;
}

int print_table(const Options& options, const std::filesystem::path& folder) {
  std::vector<std::vector<std::string>> rows;
  int met = 0;
  for (const std::string& instance : options.names) {
    const Timed one = run_command(schedule_command(instance, options, 1), folder);
    const Timed two = run_command(schedule_command(instance, options, 2), folder);
    met += add_row(rows, {instance, "2 threads", 1.8}, one, two) ? 1 : 0;
    if (options.ranks == 0) continue;
    const std::string launcher = replaced(options.launcher, "{ranks}", fmt::format("{}", options.ranks));
    const Timed ranks =
        run_command(fmt::format("{} {} --mpi", launcher, schedule_command(instance, options, 1)), folder);
    met += add_row(rows, {instance, fmt::format("{} MPI ranks", options.ranks), 0}, one, ranks) ? 1 : 0;
  }
  fmt::print(
      "{} chains; seconds of the whole program; met: identical bytes, and 1.8 times as fast with 2 threads:\n{}\n",
      options.chains,
      report::render_table({{"instance", report::Align::left},
                            {"vs. one thread", report::Align::left},
                            {"one: seconds"},
                            {"seconds"},
                            {"speed-up"},
                            {"schedule", report::Align::left},
                            {"met"}},
                           rows));
  return bench::print_met(met, static_cast<int>(rows.size()));
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  options.program = (std::filesystem::path(argv[0]).parent_path() / "dovetail").string();
  bench::Arguments program("Checks that threads and MPI ranks give the same schedule as one thread.");
  program.number("--chains", options.chains, "total number of chains", 1);
  program.number("--iterations", options.iterations, "iterations per chain (0: the program's default)", 0);
  program.number("--ranks", options.ranks, "number of MPI ranks (0: no MPI)", 0);
  program.text("--launcher", options.launcher, "command that starts the ranks");
  program.text("--program", options.program, "path of the dovetail program (default: next to this one)");
  program.text("--extra", options.extra, "further arguments of dovetail schedule, as one string");
  program.texts("instances", options.names,
                "bundled instances or files (default: exp9 exp10 three-models-2 split-backward-3)");
  if (const auto code = program.parse(argc, argv)) return *code;
  if (options.names.empty()) options.names = {"exp9", "exp10", "three-models-2", "split-backward-3"};
  std::string folder = (std::filesystem::temp_directory_path() / "dovetail-invariance-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) {
    fmt::print(stderr, "cannot create a temporary folder at {}\n", folder);
    return 1;
  }
  bench::print_heading(argc, argv);
  const int exit_code = print_table(options, folder);
  std::filesystem::remove_all(folder);
  return exit_code;
}
