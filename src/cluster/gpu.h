// What a GPU is: its memory, its speeds and its links, as published. A table of the usual ones.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace dovetail::cluster {

/// One model of GPU. All speeds are what its maker publishes, for dense matrices; what part of them is reached is for
/// the cost model.
struct Gpu {
  std::string name;
  std::int64_t memory = 0;  ///< bytes, as the driver says (nvidia-smi's total)
  std::int64_t usable_memory =
      0;                        ///< bytes that one process can allocate while nobody else uses the GPU; see usable_of
  double memory_bandwidth = 0;  ///< bytes/s
  double bf16 = 0;              ///< FLOP/s of dense matrix products; 0 where the GPU has no such units
  double fp16 = 0;              ///< FLOP/s, likewise, summed in fp32
  double fp8 = 0;               ///< FLOP/s, likewise
  double link_bandwidth = 0;    ///< bytes/s in one direction, to all others of its node together: NVLink, xGMI or PCIe
  double host_bandwidth = 0;    ///< bytes/s in one direction, to the memory of its node: PCIe or NVLink-C2C
  double network_bandwidth =
      0;  ///< bytes/s in one direction, its share of the network cards of the server it is usually sold in

  friend bool operator==(const Gpu&, const Gpu&) = default;
};

/// What one process can allocate of `memory` bytes: all but 1.25 GiB, which the driver and the process's context take,
/// and at least half. An assumption from two cases: of a B200's 183359 MiB a process that has allocated nothing finds
/// 182014 free (1.3 GiB less); of an H100's 81559 MiB the driver reserves 551, and a context takes about 500. Buffers
/// of NCCL and of libraries come out of what is left.
std::int64_t usable_of(std::int64_t memory);

/// The names of the bundled GPUs, as find_gpu's answer has them: "A100-40", "A100-80", ...
std::vector<std::string_view> gpu_names();

/// The bundled GPU of that name. Upper and lower case, dashes, spaces and a GB at the end make no difference
/// ("h100-80gb"), and the amount of memory may be left out where one size is the usual one ("A100" is A100-80). An
/// Error with a message only that says the nearest names and all that are accepted.
///
/// The figures are of the makers' data sheets: memory as above; peaks without sparsity (a data sheet that prints only
/// the sparse figure is halved); links of the SXM or OAM board in an 8-GPU server, so NVLink's or Infinity Fabric's sum
/// over all links, one direction. A GB200 is one of the two GPUs of a superchip, so it has half of its link to the CPU.
/// L40S, RTX-4090 and A6000-48 have no link but PCIe. The memory of B200 has the 7.7 TB/s of its bus as the driver
/// says, not the 8 of the data sheet (pull request 4002 of pytorch/ao).
base::Result<Gpu> find_gpu(std::string_view name);

}  // namespace dovetail::cluster
