#include "answer/words/fusion_words.h"

#include <fmt/format.h>

#include "answer/words/amounts.h"
#include "answer/words/figures.h"

namespace dovetail::answer {
namespace {

std::string generation_text(const predict::InterStage& fused) {
  std::string text = fmt::format("\ngeneration fused with inference: {} instead of {}; threshold {:g}%",
                                 seconds_text(fused.seconds()), seconds_text(fused.apart), 100 * fused.threshold);
  if (fused.keepers == fused.instances)
    return text + fmt::format(", which frees none of {} instances\n", fused.instances);
  return text + fmt::format(", {} of {} instances keep the tail; {:.0f} samples move {} in {}\n", fused.keepers,
                            fused.instances, fused.moved, fused.prefills ? "and prefill again" : "with their KV cache",
                            seconds_text(fused.migration));
}

std::string training_text(const plan::Job& job, const predict::IntraStage& fused) {
  return fmt::format("\n{} fused with {}: {} instead of {}; schedule within {} of the lower bound\n",
                     job.workflow.tasks[fused.pair[0]].name, job.workflow.tasks[fused.pair[1]].name,
                     seconds_text(fused.seconds()), seconds_text(fused.apart), percent(fused.over_bound() - 1));
}

}  // namespace

std::string fusion_text(const plan::Job& job, const predict::Estimate& estimate) {
  std::string text;
  if (estimate.inter_stage) text += generation_text(*estimate.inter_stage);
  if (estimate.intra_stage) text += training_text(job, *estimate.intra_stage);
  return text;
}

}  // namespace dovetail::answer
