// Collective operations by Gloo.
#pragma once

#include <memory>

#include "runtime/ranks/job_store.h"
#include "runtime/ranks/rank_place.h"
#include "transport/collectives.h"

namespace dovetail::runtime {

/// Creates collectives on c10d's ProcessGroupGloo. Each opened group is a process group with separate connections. Each
/// operation works on a copy of its numbers. Gloo in libtorch 1.13 lacks reduce_scatter, so ranks take their shares
/// from an all-reduce, which sends twice the bytes. The order of summation depends only on the group and the number of
/// values, so runs on the same ranks yield the same sums.
///
/// An error of `transport` ends all waits, and an error of a collective makes the transport fail. `store` and
/// `transport` must outlive the result.
std::unique_ptr<transport::Collectives> make_gloo_collectives(const RankPlace& place, JobStore& store,
                                                              transport::Transport& transport);

}  // namespace dovetail::runtime
