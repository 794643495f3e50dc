#include "planner/search/chain.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "parallel/exchange.h"
#include "planner/search/placements.h"

namespace dovetail::planner {
namespace {

bool has_meshes(const Selection& a, const Selection& b) {
  return std::equal(a.begin(), a.end(), b.begin(), [](SelectedChoice x, SelectedChoice y) { return x.mesh == y.mesh; });
}

}  // namespace

void Pool::add(const Selection& selection, const Score& score) {
  if (score.excess > 0 || (found_.size() >= max_size_ && score.period >= found_.back().score.period)) return;
  const auto same = std::find_if(found_.begin(), found_.end(), [&](const Found& known) {
    return known.score.fused == score.fused && has_meshes(known.selection, selection);
  });
  if (same != found_.end()) {
    if (same->score.period <= score.period) return;
    found_.erase(same);
  }
  const auto place =
      std::upper_bound(found_.begin(), found_.end(), score.period,
                       [](base::Ticks period, const Found& known) { return period < known.score.period; });
  found_.insert(place, {selection, score});
  if (found_.size() > max_size_) found_.pop_back();
}

std::vector<Found> scored_exactly(Trial& trial, std::vector<Found> found) {
  for (Found& one : found) one.score = trial.exact_score(one.selection, one.score.fused);
  std::stable_sort(found.begin(), found.end(),
                   [](const Found& a, const Found& b) { return a.score.period < b.score.period; });
  return found;
}

void put(std::string& message, const std::vector<Found>& found) {
  parallel::put(message, static_cast<std::int64_t>(found.size()));
  for (const Found& one : found) {
    parallel::put(message, one.score.period.count());
    parallel::put(message, one.score.excess);
    parallel::put(message, std::int64_t{one.score.fused.generation});
    parallel::put(message, std::int64_t{one.score.fused.training});
    parallel::put(message, static_cast<std::int64_t>(one.selection.size()));
    for (const SelectedChoice selected : one.selection) {
      parallel::put(message, selected.mesh);
      parallel::put(message, selected.choice);
    }
  }
}

std::vector<Found> take_found(std::string_view& message) {
  std::vector<Found> found(static_cast<std::size_t>(parallel::take(message)));
  for (Found& one : found) {
    one.score.period = base::Ticks(parallel::take(message));
    one.score.excess = parallel::take(message);
    one.score.fused.generation = parallel::take(message) != 0;
    one.score.fused.training = parallel::take(message) != 0;
    one.selection.resize(static_cast<std::size_t>(parallel::take(message)));
    for (SelectedChoice& selected : one.selection) {
      selected.mesh = static_cast<std::int32_t>(parallel::take(message));
      selected.choice = static_cast<std::int32_t>(parallel::take(message));
    }
  }
  return found;
}

namespace {

constexpr double first_heat = 0.05;  // relative to the cost
constexpr double last_heat = 5e-5;   // relative to the cost

/// Cost factor of a plan that lacks a required fusion.
constexpr double lacking = 2;

/// Steps between two checks for cancellation.
constexpr std::int64_t slice = 1024;

}  // namespace

Chain::Chain(FusionTables& tables, const Selection* start, FusionSelection fusion, std::uint64_t seed, int number,
             std::size_t kept)
    : space_(tables.space()),
      random_(seed, static_cast<std::uint64_t>(number)),
      trial_(space_, tables),
      pool_(kept),
      usable_(min_memory(space_)) {
  for (std::size_t task = 0; task < space_.choices.size(); ++task)
    if (!space_.is_rule(task)) tasks_.push_back(task);
  for (std::size_t mesh = 0; mesh < space_.meshes.size(); ++mesh)
    numbers_.emplace(space_.meshes[mesh], static_cast<std::int32_t>(mesh));
  required_ = required_fusion(space_.scenario->job, fusion);
  open_ = {fusion.generation && !required_.generation, fusion.training && !required_.training};
  now_ = {start != nullptr ? *start : anywhere(), required_};
  score_ = score(now_);
  best_ = now_;
  best_cost_ = cost_of(score_);
  remember();
}

Score Chain::score(const State& state) {
  ++evaluations_;
  return trial_.score(state.selection, state.fusion);
}

double Chain::cost_of(const Score& score) const {
  return score.cost(usable_) * (has(score.fused, required_) ? 1 : lacking);
}

void Chain::remember() {
  if (has(score_.fused, required_)) pool_.add(now_.selection, score_);
}

Selection Chain::anywhere() {
  Selection selection(space_.choices.size());
  for (const std::size_t task : tasks_) selection[task] = {any_mesh(task), 0};
  // If the first choices of linked tasks cannot be reconciled, the start stays unchanged.
  settle(space_, selection);
  return selection;
}

void Chain::run(std::int64_t count, std::int64_t planned, const parallel::Cancellation& cancellation) {
  for (const std::int64_t end = done_ + count; done_ < end; ++done_) {
    if (done_ % slice == 0 && cancellation.requested()) return;
    if (done_ % cooling == 0) begin_cooling(std::min(cooling, planned - done_));
    step();
    heat_ *= factor_;
  }
}

void Chain::begin_cooling(std::int64_t length) {
  // Every second cooling begins at the best plan; the others begin where the previous one ended.
  if (done_ / cooling % 2 == 1) {
    now_ = best_;
    score_ = score(now_);
  }
  heat_ = first_heat * cost_of(score_);
  // The length-th root of the ratio of both heats. Uses only IEEE operations, for reproducibility.
  factor_ = std::max(0.0, 1 - base::negative_log(last_heat / first_heat) / static_cast<double>(length));
}

void Chain::step() {
  next_ = now_;
  propose();
  if (next_ == now_ || !keep_bound()) return;
  ++evaluations_;
  const double most = cost_of(score_) + heat_ * random_.negative_log_unit();
  const auto is_rejected = [&](const Score& score) { return cost_of(score) > most; };
  const std::optional<Score> tried = trial_.score_unless(next_.selection, next_.fusion, is_rejected);
  if (!tried || is_rejected(*tried)) return;
  std::swap(now_, next_);
  score_ = *tried;
  remember();
  if (cost_of(score_) >= best_cost_) return;
  best_ = now_;
  best_cost_ = cost_of(score_);
}

void Chain::propose() {
  const std::size_t task = any_task();
  const std::uint32_t kind = below(open_.any() ? 17 : 16);
  if (kind == 16) {
    change_fusion();
  } else if (kind < 6) {
    next_.selection[task].choice = any_choice(task, now_.selection[task].mesh);
  } else if (kind < 9) {
    place(task, any_mesh(task));
  } else if (kind < 11) {
    join(task, any_task());
  } else if (kind < 12) {
    exchange(task, any_task());
  } else if (kind < 14) {
    move_all(now_.selection[task].mesh, any_mesh(task));
  } else {
    put_side_by_side(task, any_task());
  }
}

/// Makes linked tasks follow the first of them that moved. Returns false if they cannot.
bool Chain::keep_bound() {
  for (const std::size_t task : tasks_)
    if (!space_.links[task].empty() && next_.selection[task] != now_.selection[task] &&
        !take(space_, next_.selection, task, next_.selection[task]))
      return false;
  return true;
}

/// Toggles an optional fusion.
void Chain::change_fusion() {
  const bool of_training = open_.training && (!open_.generation || below(2) == 0);
  bool& fused = of_training ? next_.fusion.training : next_.fusion.generation;
  fused = !fused;
}

/// Draws a choice, with a bias toward fast ones.
std::int32_t Chain::any_choice(std::size_t task, std::int32_t mesh) {
  const std::size_t size = space_.choices[task][space_.shapes[static_cast<std::size_t>(mesh)]].size();
  return static_cast<std::int32_t>(std::min(below(size), below(size)));
}

/// Moves the task to a mesh. Keeps its choice if the shape is the same, otherwise draws one.
void Chain::place(std::size_t task, std::int32_t mesh) {
  if (!space_.is_open(task, mesh)) return;
  const bool same_shape = space_.shapes[static_cast<std::size_t>(mesh)] ==
                          space_.shapes[static_cast<std::size_t>(now_.selection[task].mesh)];
  next_.selection[task] = {mesh, same_shape ? now_.selection[task].choice : any_choice(task, mesh)};
}

/// Moves the task to the mesh of another task, with the same weight layout if both have the same role.
void Chain::join(std::size_t task, std::size_t other) {
  const std::int32_t mesh = now_.selection[other].mesh;
  place(task, mesh);
  const workflow::Workflow& workflow = space_.scenario->job.workflow;
  if (task == other || workflow.role_of[task] != workflow.role_of[other] || !space_.is_open(task, mesh)) return;
  const std::vector<int>& forms = space_.weight_forms[task][space_.shapes[static_cast<std::size_t>(mesh)]];
  const int form = space_.weight_form(other, now_.selection[other]);
  const auto alike = std::find(forms.begin(), forms.end(), form);
  if (alike != forms.end()) next_.selection[task].choice = static_cast<std::int32_t>(alike - forms.begin());
}

void Chain::exchange(std::size_t a, std::size_t b) {
  if (!space_.is_open(a, now_.selection[b].mesh) || !space_.is_open(b, now_.selection[a].mesh)) return;
  place(a, now_.selection[b].mesh);
  place(b, now_.selection[a].mesh);
}

/// Divides the devices of both tasks: the first part to `a`, the rest to `b`.
void Chain::put_side_by_side(std::size_t a, std::size_t b) {
  const auto mesh_of = [this](std::int32_t mesh) { return space_.meshes[static_cast<std::size_t>(mesh)]; };
  const cluster::Mesh both = cluster::hull_of(mesh_of(now_.selection[a].mesh), mesh_of(now_.selection[b].mesh));
  const int count = mesh_of(any_mesh(a)).count;
  if (a == b || count >= both.count) return;
  const auto first = numbers_.find({both.first, count});
  const auto rest = numbers_.find({both.first + count, both.count - count});
  if (first == numbers_.end() || rest == numbers_.end()) return;
  if (!space_.is_open(a, first->second) || !space_.is_open(b, rest->second)) return;
  place(a, first->second);
  place(b, rest->second);
}

void Chain::move_all(std::int32_t from, std::int32_t to) {
  for (const std::size_t task : tasks_)
    if (now_.selection[task].mesh == from) place(task, to);
}

}  // namespace dovetail::planner
