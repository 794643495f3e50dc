// Constructions: the textbook pipelines, the published greedy algorithm, and the schedules of other systems. Those that
// are published name their source; docs/solvers.md explains how each works. All have the signature of Solver::solve.
#pragma once

#include "fuse/solution/solution.h"

namespace dovetail::fuse {

/// GPipe (Huang et al. 2019): all forwards of a mini-batch, then all backwards; one model after the other.
Answer solve_gpipe(const pipeline::Problem& problem, const SolveOptions& options);

/// 1F1B (PipeDream-Flush, Narayanan et al. 2021): on stage s of S, S-1-s forwards, then alternating forwards and
/// backwards, then the remaining backwards; one model after the other.
Answer solve_1f1b(const pipeline::Problem& problem, const SolveOptions& options);

/// 1F1B of all models at once, by non-delay dispatch: backward before forward, then file order. Each stage of a
/// pipeline is capped at the number of micro-batches that 1F1B has in flight there.
Answer solve_fused_1f1b(const pipeline::Problem& problem, const SolveOptions& options);

/// 1F1B+ (RLHFuse, table 3): halves the pipeline degrees, doubles data parallelism, then runs 1F1B. The result is a
/// schedule of a different layout.
Answer solve_1f1b_plus(const pipeline::Problem& problem, const SolveOptions& options);

/// Interleaved 1F1B (Narayanan et al. 2021, section 2.2), for pipelines whose stages cycle through their devices
/// several times.
Answer solve_interleaved_1f1b(const pipeline::Problem& problem, const SolveOptions& options);

/// Chimera (Li and Hoefler 2021): two equal pipelines in opposite directions, merged.
Answer solve_chimera(const pipeline::Problem& problem, const SolveOptions& options);

/// ZB-H1 and ZB-H2 (Qi et al. 2024): 1F1B with the backward split and weight gradients delayed to fill its bubbles. H1
/// stays within the memory of 1F1B; H2 needs nearly twice as much.
Answer solve_zb_h1(const pipeline::Problem& problem, const SolveOptions& options);
Answer solve_zb_h2(const pipeline::Problem& problem, const SolveOptions& options);

/// ZB-V (Qi et al. 2024, Pipeline Parallelism with Controllable Memory): a schedule with split backwards for 2p stages
/// on p devices, where stages s and 2p-1-s are on the same device.
Answer solve_zb_v(const pipeline::Problem& problem, const SolveOptions& options);

/// The greedy start of RLHFuse (section 5.3): always runs the op that can start first. The first model in the file has
/// priority: an op of another model is postponed if it would delay a ready op of the first model.
Answer solve_greedy(const pipeline::Problem& problem, const SolveOptions& options);

/// Runs one micro-batch of one pipeline at a time: slow, but no schedule needs less memory (docs/bounds.md).
Answer solve_one_at_a_time(const pipeline::Problem& problem, const SolveOptions& options);

/// List scheduling: the best schedule of a fixed grid of priorities (backward first, most remaining work first, ...)
/// and in-flight caps. For large problems, only the first part of the grid is tried.
Answer solve_list(const pipeline::Problem& problem, const SolveOptions& options);

}  // namespace dovetail::fuse
