#include "runtime/ranks/nccl.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "runtime/ranks/collectives_like_ordered.h"
#include "runtime/ranks/device_transport.h"
#include "runtime/ranks/gloo_group.h"
#include "runtime/ranks/gloo_transport.h"
#include "runtime/ranks/rank_job.h"

namespace dovetail::runtime {
namespace {

constexpr const char* rank_test = "C10dDeviceGroup.DISABLED_IsARank";

/// Gloo's collectives on the host replace NCCL's.
base::Status sum_by_gloo() {
  DOVETAIL_TRY(const FoundRank rank, find_rank());
  DOVETAIL_TRY(const auto end, connect_gloo(rank.place, *rank.store, *rank.monitor, deadline_of_sums()));
  const ConnectDevices connect = [&](GroupUse, const std::vector<int>& ranks, std::chrono::milliseconds timeout) {
    return make_c10d_device_group(
        connect_process_group(rank.place, *rank.store, fmt::format("test/{}", fmt::join(ranks, ",")), ranks, timeout),
        at::kCPU);
  };
  const auto sums = make_device_collectives(*end, connect);
  return sum_like_ordered(*end, *sums);
}

/// Runs the part of a process that another test started as a rank.
TEST(C10dDeviceGroup, DISABLED_IsARank) {
  if (std::getenv(rank_part_variable) == nullptr) GTEST_SKIP() << "for processes that other tests start";
  print_status(sum_by_gloo());
}

TEST(C10dDeviceGroup, SumsAndGathersInPlace) {
  EXPECT_THAT(RankJob(rank_test, "sums", 3, 3).read_results(), testing::Each("ok"));
}

}  // namespace

}  // namespace dovetail::runtime
