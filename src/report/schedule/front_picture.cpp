#include "report/schedule/front_picture.h"

namespace dovetail::report {

ParetoPicture picture_of(const answer::FrontAnswer& front) {
  ParetoPicture picture;
  picture.title = front.asked.named.name + ": makespan against peak activation";
  picture.time_unit = front.asked.named.problem.time_unit;
  for (const answer::FrontSchedule& schedule : front.schedules) {
    const pipeline::Evaluation& evaluation = schedule.evaluation();
    picture.front.push_back(
        {{evaluation.makespan, evaluation.peak_activation}, schedule.shortest() && schedule.lowest()});
  }
  for (const answer::ReferenceSchedule& reference : front.references) {
    const std::string name = reference.is_baseline ? "serial " + reference.solver : reference.solver;
    picture.others.push_back({name, {reference.makespan, reference.peak}, reference.is_baseline});
  }
  for (const fuse::PeakBoundStep& step : front.peak_bound) picture.bound.push_back({step.makespan, step.peak});
  return picture;
}

}  // namespace dovetail::report
