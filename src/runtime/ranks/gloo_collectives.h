// Sums by Gloo's own collectives.
#pragma once

#include <memory>

#include "runtime/ranks/job_store.h"
#include "runtime/ranks/rank_place.h"
#include "transport/collectives.h"

namespace dovetail::runtime {

/// Collectives of c10d's ProcessGroupGloo, with connections of their own: a group of processes for each group that is
/// opened. Each works on a copy of its numbers. Gloo of libtorch 1.13 has no reduce_scatter: it is an all_reduce, of
/// which a rank takes its share, and so twice as many bytes are sent. Values of equal groups are summed in an order
/// that their number decides: a run of the same ranks gives the same sums.
///
/// An error of `transport` ends all waits, and an error here is the transport's. `store` and `transport` outlive it.
std::unique_ptr<transport::Collectives> make_gloo_collectives(const RankPlace& place, JobStore& store,
                                                              transport::Transport& transport);

}  // namespace dovetail::runtime
