// How long a mini-batch takes in a pipeline that runs 1F1B, whose stages differ and whose messages take time.
//
// Equal stages t = f + b without messages take (m + (p - 1) / v) t for m micro-batches, p stages and v chunks on each
// (arXiv 2104.04473, section 2.2). Two things are beyond that formula. A slow stage that is not the last hides in part
// what the formula adds for the others. And a message of c seconds delays 1F1B for each micro-batch, not once: stage k
// gets on with micro-batch i + n only when i has been through the n stages from k to e and back, so that in the long
// run a micro-batch takes, with v = 1,
//
//   max over runs of neighbouring stages k ... e, n = e - k + 1, of (sum_{k..e} t_s + 2 (n - 1) c) / n
//
// which is t + 2 c (p - 1) / p where all are equal. Interleaved 1F1B lets 2 n - 1 passes go on meanwhile in place of n,
// which hides messages of up to half of a chunk's pass, but its stages wait for each other wherever chunks differ.
//
// So the first micro-batches are played: a pass starts when its stage has done what 1F1B lets it do before, and its
// input has come. Passes are counted so that each depends on lower counts only, or on what stands before it in its own:
// F_i of stage s has the count i + s; B_j has j + p - 1, the last stage first (v = 1), or j + (v + 1) p - 2 - s (v > 1,
// i and j the passes of a stage in all chunks, in their order). That makes two loops over the stages for each count.
// Later micro-batches follow at the formula's pace (v = 1), or as the last p did.
#pragma once

#include <vector>

#include "cost/passes.h"

namespace dovetail::cost {

/// Both passes of a micro-batch through one chunk of layers.
struct ChunkPasses {
  PassSeconds forward;
  PassSeconds backward;
};

/// So many micro-batches are played: a number for each stage, but at least a number in all.
inline constexpr int played_each_stage = 3;
inline constexpr int played_in_all = 32;

/// What one mini-batch takes under 1F1B, interleaved where there are more chunks than stages: chunk k is on stage k %
/// stages. `hop_seconds`: of a message from a chunk to the next, forward or backward. Of what the slowest stage waits,
/// bubbles are no more than the others' passes once, over v; the rest is transfers. REQUIRES: at least one stage,
/// chunks a multiple of the stages; at least one micro-batch, with several chunks a stage a multiple of the stages.
PipelineSeconds training_pipeline_seconds(const std::vector<ChunkPasses>& chunks, int stages, int micro_batches,
                                          double hop_seconds);

}  // namespace dovetail::cost
