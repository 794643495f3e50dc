#include "cli/fusion_words.h"

#include <fmt/format.h>

#include "answer/question/json.h"
#include "answer/words/amounts.h"
#include "answer/words/figures.h"
#include "cli/job.h"

namespace dovetail::cli {
namespace {

std::string generation_text(const predict::InterStage& fused) {
  std::string text = fmt::format("\ngeneration + inference, fused: {} instead of {}; threshold {:g}%",
                                 answer::seconds_text(fused.seconds()), answer::seconds_text(fused.apart), 100 * fused.threshold);
  if (fused.keepers == fused.instances) return text + fmt::format(", at which none of {} instances is freed\n", fused.instances);
  return text + fmt::format(", {} of {} instances keep the tail, {:.0f} samples move {} in {}\n", fused.keepers, fused.instances,
                            fused.moved, fused.prefills ? "and are prefilled again" : "with their keys and values",
                            answer::seconds_text(fused.migration));
}

std::string training_text(const plan::Job& job, const predict::IntraStage& fused) {
  return fmt::format("\n{} + {}, fused: {} instead of {}; its schedule is {} above what no schedule of both beats\n",
                     job.workflow.tasks[fused.pair[0]].name, job.workflow.tasks[fused.pair[1]].name, answer::seconds_text(fused.seconds()),
                     answer::seconds_text(fused.apart), answer::percent(fused.over_bound() - 1));
}

}  // namespace

std::string fusion_text(const plan::Job& job, const predict::Estimate& estimate) {
  std::string text;
  if (estimate.inter_stage) text += generation_text(*estimate.inter_stage);
  if (estimate.intra_stage) text += training_text(job, *estimate.intra_stage);
  return text;
}

answer::Json fusion_json(const plan::Job& job, const predict::Estimate& estimate) {
  answer::Json object;
  if (const auto& fused = estimate.inter_stage)
    object["inter_stage"] = answer::Json{{"threshold", fused->threshold},
                                         {"instances", fused->instances},
                                         {"keepers", fused->keepers},
                                         {"moved_samples", answer::json_ratio(fused->moved)},
                                         {"moved_by", fused->prefills ? "prefill" : "keys and values"},
                                         {"migration_seconds", answer::json_seconds(fused->migration)},
                                         {"set_up_seconds", answer::json_seconds(fused->set_up)},
                                         {"seconds", answer::json_seconds(fused->seconds())},
                                         {"apart_seconds", answer::json_seconds(fused->apart)}};
  if (const auto& fused = estimate.intra_stage)
    object["intra_stage"] =
        answer::Json{{"tasks", answer::Json::array({job.workflow.tasks[fused->pair[0]].name, job.workflow.tasks[fused->pair[1]].name})},
                     {"seconds", answer::json_seconds(fused->seconds())},
                     {"apart_seconds", answer::json_seconds(fused->apart)},
                     {"schedule_seconds", answer::json_seconds(fused->schedule_seconds)},
                     {"bound_seconds", answer::json_seconds(fused->bound)}};
  return object;
}

}  // namespace dovetail::cli
