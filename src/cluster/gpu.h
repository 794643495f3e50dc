// GPUs: memory, speeds and links, and a table of common models.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace dovetail::cluster {

/// A GPU model. Speeds are the manufacturer's figures, for dense matrices. The cost model decides which fraction of
/// them is reached.
struct Gpu {
  std::string name;
  std::int64_t memory = 0;         ///< bytes that the driver reports (total of nvidia-smi)
  std::int64_t usable_memory = 0;  ///< bytes that one process can allocate on an otherwise unused GPU; see usable_of
  double memory_bandwidth = 0;     ///< bytes/s
  double bf16 = 0;                 ///< FLOP/s of dense matrix products; 0 if the GPU does not support bf16
  double fp16 = 0;                 ///< FLOP/s with fp32 accumulation; 0 if not supported
  double fp8 = 0;                  ///< FLOP/s; 0 if not supported
  /// Bytes/s in one direction to all other GPUs of its node together: NVLink, xGMI or PCIe.
  double link_bandwidth = 0;
  double host_bandwidth = 0;     ///< bytes/s in one direction to the memory of its node: PCIe or NVLink-C2C
  double network_bandwidth = 0;  ///< bytes/s in one direction: its share of the network cards of a typical server

  friend bool operator==(const Gpu&, const Gpu&) = default;
};

/// Returns the bytes that one process can allocate of `memory`: all except 1.25 GiB for the driver and the process's
/// context, but at least half.
///
/// This assumption is based on two cases. On a B200 with 183359 MiB, a process that has allocated nothing finds 182014
/// MiB free (1.3 GiB less). On an H100 with 81559 MiB, the driver reserves 551 MiB, and a context takes about 500 MiB.
/// Buffers of NCCL and other libraries must fit in the returned bytes.
std::int64_t usable_of(std::int64_t memory);

/// Names of the bundled GPUs as in Gpu::name: "A100-40", "A100-80", ...
std::vector<std::string_view> gpu_names();

/// Finds a bundled GPU by name, or by the name that nvidia-smi prints ("NVIDIA H100 80GB HBM3"). Case, dashes,
/// underscores, spaces and a final GB do not matter ("h100-80gb"). The memory size may be left out if one size is usual
/// ("A100" is A100-80). The Error for an unknown name has no position. It lists all names and suggests a similar one,
/// if any.
///
/// The specifications are from data sheets, except Gpu::memory, which the driver reports. Peak speeds are without
/// sparsity; if a data sheet has only the sparse value, it is halved. Links are those of the SXM or OAM board in an
/// 8-GPU server: the sum of all NVLink or Infinity Fabric links in one direction.
///
/// A GB200 or GB300 is one of the two GPUs of a superchip, so it has half of the superchip's link to the CPU. The PCIe
/// variants of A100 and H100, L4, L20, L40, L40S, A10, A30, A6000 and the RTX GPUs have only PCIe links. The maker of
/// H20-141 states no memory bandwidth, so it is assumed to equal H200's. The memory bandwidth of B200 is 7.7 TB/s,
/// computed from the bus that the driver reports, not the data sheet's 8 TB/s (pull request 4002 of pytorch/ao).
base::Result<Gpu> find_gpu(std::string_view name);

}  // namespace dovetail::cluster
