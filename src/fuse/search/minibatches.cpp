#include "fuse/search/minibatches.h"

#include <algorithm>
#include <utility>

#include "fuse/search/search_order.h"

namespace dovetail::fuse {

int count_minibatches(const pipeline::Problem& problem) {
  int count = 0;
  for (const pipeline::Model& model : problem.models) count = std::max(count, model.minibatches);
  return count;
}

pipeline::Problem only_minibatch(const pipeline::Problem& problem, int index) {
  pipeline::Problem alone = problem;
  std::erase_if(alone.models, [index](const pipeline::Model& model) { return model.minibatches <= index; });
  for (pipeline::Model& model : alone.models) model.minibatches = 1;
  return alone;
}

pipeline::Order join_minibatches(const pipeline::Problem& problem, const pipeline::Lowering& lowering,
                                 const std::vector<Solution>& parts) {
  std::vector<SearchOrderPart> after;
  for (std::size_t part = 0; part < parts.size(); ++part) {
    std::vector<std::int32_t> models;  // [model of the part] its index in the problem
    for (std::size_t model = 0; model < problem.models.size(); ++model)
      if (std::cmp_less(part, problem.models[model].minibatches)) models.push_back(static_cast<std::int32_t>(model));
    after.push_back({&parts[part], std::move(models)});
  }
  return search_order(lowering, after);
}

}  // namespace dovetail::fuse
