#include "runtime/ranks/rank_place.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <utility>

#include "base/document.h"

namespace dovetail::runtime {
namespace {

using base::Result;

constexpr int max_ranks = 1 << 16;

/// Environment variables of a launcher.
struct LauncherVariables {
  std::string_view rank;
  std::string_view ranks;
  std::string_view local_rank;
  /// variables that identify the job on its host; empty if the launcher sets the port
  std::array<std::string_view, 2> job = {};
};
constexpr LauncherVariables of_torchrun{"RANK", "WORLD_SIZE", "LOCAL_RANK"};
constexpr LauncherVariables of_mpirun{"OMPI_COMM_WORLD_RANK",
                                      "OMPI_COMM_WORLD_SIZE",
                                      "OMPI_COMM_WORLD_LOCAL_RANK",
                                      {"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid"}};
constexpr LauncherVariables of_srun{"SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", {"SLURM_JOB_ID", "SLURM_STEP_ID"}};

std::optional<std::string_view> find(const Variables& variables, std::string_view name) {
  const auto found = variables.find(name);
  return found == variables.end() ? std::nullopt : std::optional<std::string_view>(found->second);
}

base::Error wrong(std::string_view name, std::string_view what) {
  return base::bad_input(fmt::format("the environment variable {} {}", name, what));
}

Result<int> read_number(const Variables& variables, std::string_view name, int min, int max,
                        std::optional<int> otherwise = std::nullopt) {
  const auto text = find(variables, name);
  if (!text && otherwise) return *otherwise;
  const std::string accepted = fmt::format("it must be an integer from {} to {}", min, max);
  if (!text) return wrong(name, "is missing; " + accepted);
  int number = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), number);
  if (error != std::errc() || end != text->data() + text->size() || number < min || number > max)
    return wrong(name, fmt::format("is {}; {}", base::quote(*text), accepted));
  return number;
}

/// Derives a port from the job's identity. All ranks of the job get the same port, and other jobs probably another one.
/// The range excludes ephemeral ports.
std::uint16_t port_of_job(const Variables& variables, const LauncherVariables& names) {
  constexpr std::uint32_t first = 20'000;
  constexpr std::uint32_t ports = 10'000;
  std::uint32_t hash = 2166136261;  // FNV-1a
  bool is_known = false;
  for (const std::string_view name : names.job)
    for (const char c : find(variables, name).value_or("")) {
      hash = (hash ^ static_cast<unsigned char>(c)) * 16777619;
      is_known = true;
    }
  return is_known ? static_cast<std::uint16_t>(first + hash % ports) : default_store_port;
}

/// Reads the rank and the number of ranks.
Result<RankPlace> read_ranks(const Variables& variables, const LauncherVariables& names) {
  RankPlace place;
  DOVETAIL_TRY(place.ranks, read_number(variables, names.ranks, 1, max_ranks));
  DOVETAIL_TRY(place.rank, read_number(variables, names.rank, 0, place.ranks - 1));
  DOVETAIL_TRY(place.local_rank, read_number(variables, names.local_rank, 0, max_ranks, 0));
  DOVETAIL_TRY(const int port, read_number(variables, "MASTER_PORT", 1, std::numeric_limits<std::uint16_t>::max(),
                                           port_of_job(variables, names)));
  place.store_port = static_cast<std::uint16_t>(port);
  place.holds_store = place.rank == 0;
  return place;
}

Result<RankPlace> read_torchrun(const Variables& variables) {
  DOVETAIL_TRY(RankPlace place, read_ranks(variables, of_torchrun));
  for (const std::string_view name : {"MASTER_ADDR", "MASTER_PORT"})
    if (!find(variables, name))
      return wrong(
          name,
          "is missing; MASTER_ADDR and MASTER_PORT must be the address and port where rank 0 or its launcher listens");
  place.store_host = *find(variables, "MASTER_ADDR");
  DOVETAIL_TRY(place.attempt,
               read_number(variables, "TORCHELASTIC_RESTART_COUNT", 0, std::numeric_limits<int>::max(), 0));
  if (const auto agent = find(variables, "TORCHELASTIC_USE_AGENT_STORE")) {
    if (*agent != "True" && *agent != "False")
      return wrong("TORCHELASTIC_USE_AGENT_STORE", fmt::format("is {}; accepted: True, False", base::quote(*agent)));
    if (*agent == "True") place.holds_store = false;
  }
  return place;
}

Result<RankPlace> read_mpirun(const Variables& variables) {
  DOVETAIL_TRY(RankPlace place, read_ranks(variables, of_mpirun));
  if (const auto host = find(variables, "MASTER_ADDR")) {
    place.store_host = *host;
    return place;
  }
  DOVETAIL_TRY(const int here, read_number(variables, "OMPI_COMM_WORLD_LOCAL_SIZE", 1, max_ranks, 0));
  if (here != place.ranks)
    return wrong("MASTER_ADDR",
                 "is missing, but not all ranks are known to be on one host; set it to the host of rank 0");
  place.store_host = "127.0.0.1";
  return place;
}

Result<RankPlace> read_srun(const Variables& variables) {
  DOVETAIL_TRY(RankPlace place, read_ranks(variables, of_srun));
  for (const std::string_view name : {"MASTER_ADDR", "SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST"})
    if (const auto hosts = find(variables, name); hosts && place.store_host.empty())
      place.store_host = name == "MASTER_ADDR" ? std::string(*hosts) : first_host(*hosts);
  if (place.store_host.empty())
    return wrong("SLURM_JOB_NODELIST", "names no host; set it to a list of hosts, or set MASTER_ADDR");
  return place;
}

}  // namespace

Variables environment_variables() {
  Variables variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t end = std::min(text.find('='), text.size());
    variables.emplace(text.substr(0, end), text.substr(std::min(end + 1, text.size())));
  }
  return variables;
}

std::string first_host(std::string_view list) {
  std::size_t end = list.find_first_of(",[");
  if (end == std::string_view::npos || list[end] == ',') return std::string(list.substr(0, end));
  const std::string_view number = list.substr(end + 1, list.find_first_of("-,]", end) - end - 1);
  const std::size_t closed = list.find(']', end);
  if (closed == std::string_view::npos) return std::string(list.substr(0, end)).append(number);
  const std::string_view rest = list.substr(closed + 1);
  return fmt::format("{}{}{}", list.substr(0, end), number, rest.substr(0, rest.find(',')));
}

Result<std::optional<RankPlace>> find_rank_place(const Variables& variables) {
  using Read = Result<RankPlace> (*)(const Variables&);
  for (const auto& [names, read] : {std::pair<LauncherVariables, Read>(of_torchrun, read_torchrun),
                                    {of_mpirun, read_mpirun},
                                    {of_srun, read_srun}}) {
    if (!find(variables, names.rank)) continue;
    DOVETAIL_TRY(RankPlace place, read(variables));
    return std::optional(std::move(place));
  }
  return std::optional<RankPlace>();
}

}  // namespace dovetail::runtime
