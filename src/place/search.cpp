#include "place/search.h"

#include <algorithm>
#include <map>

#include "base/random.h"
#include "parallel/for_each_index.h"

namespace dovetail::place {
namespace {

constexpr double first_heat = 0.05;     // of the cost
constexpr double last_heat = 5e-5;      // likewise
constexpr std::int64_t cycle = 20'000;  // iterations of one cooling

/// The best plan of each arrangement of meshes, of the best so many.
class Pool {
 public:
  explicit Pool(std::size_t most) : most_(most) {}

  void add(const Picks& picks, const Score& score) {
    if (score.excess > 0 || (found_.size() >= most_ && score.period >= found_.back().score.period)) return;
    const auto same = std::find_if(found_.begin(), found_.end(), [&](const Found& known) { return has_meshes(known.picks, picks); });
    if (same != found_.end()) {
      if (same->score.period <= score.period) return;
      found_.erase(same);
    }
    const auto place = std::upper_bound(found_.begin(), found_.end(), score.period,
                                        [](base::Ticks period, const Found& known) { return period < known.score.period; });
    found_.insert(place, {picks, score});
    if (found_.size() > most_) found_.pop_back();
  }

  const std::vector<Found>& found() const { return found_; }

 private:
  static bool has_meshes(const Picks& a, const Picks& b) {
    return std::equal(a.begin(), a.end(), b.begin(), [](Pick x, Pick y) { return x.mesh == y.mesh; });
  }

  std::size_t most_;
  std::vector<Found> found_;
};

class Chain {
 public:
  Chain(const SearchSpace& space, const std::vector<Picks>& starts, const SearchOptions& options, int number)
      : space_(space), options_(options), random_(options.seed, static_cast<std::uint64_t>(number)), trial_(space), pool_(options.kept) {
    for (std::size_t task = 0; task < space.choices.size(); ++task)
      if (!space.is_rule(task)) tasks_.push_back(task);
    for (std::size_t mesh = 0; mesh < space.meshes.size(); ++mesh) numbers_.emplace(space.meshes[mesh], static_cast<std::int32_t>(mesh));
    usable_ = smallest_memory(space);
    now_ = starts.empty() ? anywhere() : starts[static_cast<std::size_t>(number) % starts.size()];
    score_ = trial_.score(now_);
    best_ = now_;
    best_cost_ = score_.cost(usable_);
    pool_.add(now_, score_);
  }

  void run() {
    for (std::int64_t done = 0; done < options_.iterations;) {
      const std::int64_t length = std::min(cycle, options_.iterations - done);
      if (options_.cancellation != nullptr && options_.cancellation->requested()) return;
      // Every second cooling begins where the one before ended.
      if (done / cycle % 2 == 1) now_ = best_;
      score_ = trial_.score(now_);
      cool(length);
      done += length;
    }
  }

  const std::vector<Found>& found() const { return pool_.found(); }

 private:
  Picks anywhere() {
    Picks picks(space_.choices.size());
    for (const std::size_t task : tasks_) picks[task] = {any_mesh(task), 0};
    return picks;
  }

  std::uint32_t below(std::size_t bound) { return random_.below(static_cast<std::uint32_t>(bound)); }
  std::size_t any_task() { return tasks_[below(tasks_.size())]; }
  std::int32_t any_mesh(std::size_t task) { return space_.open[task][below(space_.open[task].size())]; }
  const std::vector<Choice>& choices(std::size_t task, std::int32_t mesh) const {
    return space_.choices[task][space_.shapes[static_cast<std::size_t>(mesh)]];
  }
  /// Fast ones more often than slow ones.
  std::int32_t any_choice(std::size_t task, std::int32_t mesh) {
    const std::size_t size = choices(task, mesh).size();
    return static_cast<std::int32_t>(std::min(below(size), below(size)));
  }

  void cool(std::int64_t length) {
    const double cost = score_.cost(usable_);
    double heat = first_heat * cost;
    // The length-th root of the ratio of both heats, by IEEE operations alone.
    const double factor = 1 - base::negative_log(last_heat / first_heat) / static_cast<double>(length);
    for (std::int64_t iteration = 0; iteration < length; ++iteration, heat *= factor) step(heat);
  }

  void step(double heat) {
    next_ = now_;
    propose();
    if (next_ == now_) return;
    const Score score = trial_.score(next_);
    const double cost = score.cost(usable_);
    if (cost > score_.cost(usable_) + heat * random_.negative_log_unit()) return;
    std::swap(now_, next_);
    score_ = score;
    pool_.add(now_, score_);
    if (cost >= best_cost_) return;
    best_ = now_;
    best_cost_ = cost;
  }

  void propose() {
    const std::size_t task = any_task();
    const std::uint32_t kind = below(16);
    if (kind < 6) {
      next_[task].choice = any_choice(task, now_[task].mesh);
    } else if (kind < 9) {
      place(task, any_mesh(task));
    } else if (kind < 11) {
      join(task, any_task());
    } else if (kind < 12) {
      exchange(task, any_task());
    } else if (kind < 14) {
      move_all(now_[task].mesh, any_mesh(task));
    } else {
      put_side_by_side(task, any_task());
    }
  }

  /// On another mesh with the same layout where there is one, else with any.
  void place(std::size_t task, std::int32_t mesh) {
    if (!space_.is_open(task, mesh)) return;
    const bool same_shape = space_.shapes[static_cast<std::size_t>(mesh)] == space_.shapes[static_cast<std::size_t>(now_[task].mesh)];
    next_[task] = {mesh, same_shape ? now_[task].choice : any_choice(task, mesh)};
  }

  /// To where another task is, with its weights' layout if it is of the same role.
  void join(std::size_t task, std::size_t other) {
    const std::int32_t mesh = now_[other].mesh;
    place(task, mesh);
    const workflow::Workflow& workflow = space_.ground->job.workflow;
    if (task == other || workflow.role_of[task] != workflow.role_of[other] || !space_.is_open(task, mesh)) return;
    const std::vector<int>& forms = space_.weight_forms[task][space_.shapes[static_cast<std::size_t>(mesh)]];
    const int form = space_.weight_form(other, now_[other]);
    const auto alike = std::find(forms.begin(), forms.end(), form);
    if (alike != forms.end()) next_[task].choice = static_cast<std::int32_t>(alike - forms.begin());
  }

  void exchange(std::size_t a, std::size_t b) {
    if (!space_.is_open(a, now_[b].mesh) || !space_.is_open(b, now_[a].mesh)) return;
    place(a, now_[b].mesh);
    place(b, now_[a].mesh);
  }

  /// The devices of both are shared out, to one the first, to the other the rest.
  void put_side_by_side(std::size_t a, std::size_t b) {
    const auto mesh_of = [this](std::int32_t mesh) { return space_.meshes[static_cast<std::size_t>(mesh)]; };
    const cluster::Mesh both = cluster::hull_of(mesh_of(now_[a].mesh), mesh_of(now_[b].mesh));
    const int count = mesh_of(any_mesh(a)).count;
    if (a == b || count >= both.count) return;
    const auto first = numbers_.find({both.first, count});
    const auto rest = numbers_.find({both.first + count, both.count - count});
    if (first == numbers_.end() || rest == numbers_.end()) return;
    if (!space_.is_open(a, first->second) || !space_.is_open(b, rest->second)) return;
    place(a, first->second);
    place(b, rest->second);
  }

  void move_all(std::int32_t from, std::int32_t to) {
    for (const std::size_t task : tasks_)
      if (now_[task].mesh == from) place(task, to);
  }

  const SearchSpace& space_;
  const SearchOptions& options_;
  base::Random random_;
  Trial trial_;
  Pool pool_;
  std::map<cluster::Mesh, std::int32_t> numbers_;  // of the space's meshes
  std::vector<std::size_t> tasks_;                 // that are no rules
  std::int64_t usable_ = 0;
  Picks now_;
  Picks next_;
  Score score_;
  Picks best_;
  double best_cost_ = 0;
};

}  // namespace

std::vector<Found> search(const SearchSpace& space, const std::vector<Picks>& starts, const SearchOptions& options) {
  std::vector<std::vector<Found>> of_chains(static_cast<std::size_t>(options.chains));
  parallel::for_each_index(options.chains, options.threads, [&](int number) {
    Chain chain(space, starts, options, number);
    chain.run();
    of_chains[static_cast<std::size_t>(number)] = chain.found();
  });
  Pool pool(options.kept);
  Trial trial(space);
  for (const Picks& picks : starts) pool.add(picks, trial.score(picks));
  for (const std::vector<Found>& of_chain : of_chains)
    for (const Found& found : of_chain) pool.add(found.picks, found.score);
  return pool.found();
}

std::vector<Found> real_search(const SearchSpace& space, const RealOptions& options) {
  std::vector<std::vector<Pick>> lists(space.choices.size());
  std::vector<std::pair<std::size_t, std::size_t>> all;  // task, option
  for (std::size_t task = 0; task < lists.size(); ++task) {
    for (const std::int32_t mesh : space.open[task])
      for (std::size_t choice = 0; choice < space.choices[task][space.shapes[static_cast<std::size_t>(mesh)]].size(); ++choice)
        lists[task].push_back({mesh, static_cast<std::int32_t>(choice)});
    std::stable_sort(lists[task].begin(), lists[task].end(),
                     [&](Pick a, Pick b) { return space.choice(task, a).duration < space.choice(task, b).duration; });
    for (std::size_t option = 0; option < lists[task].size(); ++option) all.emplace_back(task, option);
  }
  Picks now(lists.size());
  for (std::size_t task = 0; task < lists.size(); ++task)
    if (!lists[task].empty()) now[task] = lists[task].front();
  Trial trial(space);
  base::Random random(options.seed, 0);
  Pool pool(1);
  const auto cost_of = [](const Score& score) { return score.period.count() * (score.excess > 0 ? 3 : 1); };
  Score score = trial.score(now);
  pool.add(now, score);
  for (std::int64_t done = 1; done < options.evaluations; ++done) {
    const auto [task, option] = all[random.below(static_cast<std::uint32_t>(all.size()))];
    Picks next = now;
    next[task] = lists[task][option];
    const Score tried = trial.score(next);
    const std::int64_t units = 5 * (cost_of(tried) - cost_of(score)) / 100'000'000;
    if (units > 0 && options.beta * static_cast<double>(units) > random.negative_log_unit()) continue;
    now = next;
    score = tried;
    pool.add(now, score);
  }
  return pool.found();
}

}  // namespace dovetail::place
