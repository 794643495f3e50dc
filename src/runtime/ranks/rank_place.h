// Rank of this process in its job, read from the environment variables of a launcher.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace dovetail::runtime {

/// Rank of a process, and the address of the store through which the ranks of its job find each other.
struct RankPlace {
  int rank = 0;
  int ranks = 1;
  int local_rank = 0;            ///< rank within this host
  std::string store_host;        ///< host of the store
  std::uint16_t store_port = 0;  ///< port of the store
  bool holds_store = false;      ///< whether this rank runs the store; otherwise rank 0 or a launcher runs it
  int attempt = 0;               ///< number of times a launcher has restarted the job

  friend bool operator==(const RankPlace&, const RankPlace&) = default;
};

/// Environment variables by name.
using Variables = std::map<std::string, std::string, std::less<>>;

/// Returns the environment of this process.
Variables environment_variables();

/// Port of the store if the launcher sets neither MASTER_PORT nor a job ID.
inline constexpr std::uint16_t default_store_port = 29500;

/// Reads the rank from the first of these sets of variables that is present:
///
/// - RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR, MASTER_PORT: torchrun, `dovetail-train launch`. Rank 0 runs the store,
///   unless TORCHELASTIC_USE_AGENT_STORE is True: then the launcher runs it. TORCHELASTIC_RESTART_COUNT is the attempt.
/// - OMPI_COMM_WORLD_RANK, _SIZE, _LOCAL_RANK: mpirun. MASTER_ADDR is optional if all ranks are on one host.
/// - SLURM_PROCID, SLURM_NTASKS, SLURM_LOCALID: srun. MASTER_ADDR defaults to the first host of SLURM_STEP_NODELIST or
///   SLURM_JOB_NODELIST.
///
/// With mpirun and srun, rank 0 runs the store. The port of the store is MASTER_PORT if set. Otherwise, it is from
/// 20000 to 29999, derived from the job ID that the launcher sets: PMIX_NAMESPACE and OMPI_MCA_ess_base_jobid for
/// mpirun, SLURM_JOB_ID and SLURM_STEP_ID for srun.
///
/// Returns nullopt if no set is present. An Error names the variable that is missing or invalid.
base::Result<std::optional<RankPlace>> find_rank_place(const Variables& variables);

/// Returns the first host of a list in Slurm's format: node003 for "node[003-010,12],login".
std::string first_host(std::string_view list);

}  // namespace dovetail::runtime
