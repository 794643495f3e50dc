// Who a process is among the ranks of its job: read from what its launcher has put into the environment.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace dovetail::runtime {

/// A rank, and the store through which the ranks of its job find each other.
struct RankPlace {
  int rank = 0;
  int ranks = 1;
  int local_rank = 0;            ///< among the ranks on this host
  std::string store_host;        ///< where the store is
  std::uint16_t store_port = 0;  ///< likewise
  bool holds_store = false;      ///< this rank does; else rank 0 or a launcher
  int attempt = 0;               ///< how often a launcher has started the job again

  friend bool operator==(const RankPlace&, const RankPlace&) = default;
};

/// Environment variables by name.
using Variables = std::map<std::string, std::string, std::less<>>;

/// This process's.
Variables environment_variables();

/// The port of a store where neither MASTER_PORT nor the launcher's number of the job is there.
inline constexpr std::uint16_t default_store_port = 29500;

/// What the first of these says that is there:
///
/// - RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR, MASTER_PORT: torchrun, `dovetail-train launch`. Rank 0 holds the store,
///   but where TORCHELASTIC_USE_AGENT_STORE says that the launcher does. TORCHELASTIC_RESTART_COUNT is the attempt;
/// - OMPI_COMM_WORLD_RANK, _SIZE, _LOCAL_RANK: mpirun. MASTER_ADDR may be missing where all ranks are on one host;
/// - SLURM_PROCID, SLURM_NTASKS, SLURM_LOCALID: srun. Where MASTER_ADDR is missing, the first host of
///   SLURM_STEP_NODELIST or SLURM_JOB_NODELIST.
///
/// With mpirun and srun rank 0 holds the store, at MASTER_PORT, else at a port from 20000 to 29999 that follows from
/// the launcher's number of the job (PMIX_NAMESPACE and OMPI_MCA_ess_base_jobid, SLURM_JOB_ID and SLURM_STEP_ID).
/// Nothing where none of them is there. An Error names the variable that is missing or wrong.
base::Result<std::optional<RankPlace>> find_rank_place(const Variables& variables);

/// The first host of a list as Slurm writes it: "node[003-010,12],login" begins with node003.
std::string first_host(std::string_view list);

}  // namespace dovetail::runtime
