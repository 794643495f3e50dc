#include "planner/bound/bound_terms.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

namespace dovetail::planner {
namespace {

using workflow::TaskKind;

constexpr std::size_t max_circles = 256;
constexpr std::size_t max_terms = 1024;
constexpr std::size_t max_on_circle = 8;  // of which stretches are taken out
constexpr int max_lag = 7;

struct Edge {
  std::size_t to;
  int lag;
  bool brings_weights;  // to an engine, where it has weights of its own
};

/// The edges between tasks: [task].
std::vector<std::vector<Edge>> edges_of(const plan::Job& job) {
  std::vector<std::vector<Edge>> edges(job.workflow.tasks.size());
  for (const workflow::DataEdge& edge : job.workflow.data_edges)
    edges[edge.from.index()].push_back({edge.to.index(), 0, false});
  for (const workflow::VersionEdge& edge : workflow::version_edges(job.workflow, job.workload.steps_off_policy))
    edges[edge.train.index()].push_back(
        {edge.use.index(), edge.iterations, job.workflow.tasks[edge.use.index()].kind == TaskKind::generate});
  return edges;
}

/// Edges one behind the other that come back to where they began: each with the task that it comes from.
struct Circle {
  std::vector<std::size_t> tasks;
  std::vector<Edge> edges;  // [as tasks] from the task to the next
  int lag = 0;
};

/// Simple circles, each once: from their least task on.
class Circles {
 public:
  explicit Circles(const std::vector<std::vector<Edge>>& edges) : edges_(edges), on_path_(edges.size()) {
    for (first_ = 0; first_ < edges.size(); ++first_) follow(first_);
  }

  const std::vector<Circle>& all() const { return circles_; }

 private:
  void follow(std::size_t task) {
    path_.tasks.push_back(task);
    on_path_[task] = true;
    for (const Edge& edge : edges_[task]) {
      path_.edges.push_back(edge);
      path_.lag += edge.lag;
      if (edge.to == first_ && path_.lag > 0 && circles_.size() < max_circles) circles_.push_back(path_);
      if (edge.to > first_ && !on_path_[edge.to] && circles_.size() < max_circles) follow(edge.to);
      path_.lag -= edge.lag;
      path_.edges.pop_back();
    }
    on_path_[task] = false;
    path_.tasks.pop_back();
  }

  const std::vector<std::vector<Edge>>& edges_;
  std::vector<bool> on_path_;  // [task]
  std::size_t first_ = 0;
  Circle path_;
  std::vector<Circle> circles_;
};

/// Which tasks must follow which.
class Precedence {
 public:
  explicit Precedence(const std::vector<std::vector<Edge>>& edges)
      : lags_(edges.size(), std::vector<std::uint32_t>(edges.size())) {
    for (std::size_t from = 0; from < edges.size(); ++from)
      for (const Edge& edge : edges[from])
        if (edge.lag <= max_lag) lags_[from][edge.to] |= 1U << edge.lag;
    for (bool grew = true; grew;) {
      grew = false;
      for (std::size_t from = 0; from < edges.size(); ++from)
        for (std::size_t over = 0; over < edges.size(); ++over)
          for (std::size_t to = 0; to < edges.size(); ++to) {
            const std::uint32_t more = lags_[from][to] | sums(lags_[from][over], lags_[over][to]);
            grew = grew || more != lags_[from][to];
            lags_[from][to] = more;
          }
    }
  }

  /// The tasks of which one execution lies between `from` and the execution of `to` that is `lag` iterations later.
  std::vector<std::size_t> between(std::size_t from, std::size_t to, int lag) const {
    std::vector<std::size_t> tasks;
    for (std::size_t task = 0; lag <= max_lag && task < lags_.size(); ++task)
      if (task != from && task != to && ((sums(lags_[from][task], lags_[task][to]) >> lag) & 1U) != 0)
        tasks.push_back(task);
    return tasks;
  }

 private:
  /// All sums of a lag of `a` and one of `b`.
  static std::uint32_t sums(std::uint32_t a, std::uint32_t b) {
    std::uint32_t all = 0;
    for (int lag = 0; lag <= max_lag; ++lag)
      if (((a >> lag) & 1U) != 0) all |= b << lag;
    return all & ((2U << max_lag) - 1);
  }

  std::vector<std::vector<std::uint32_t>> lags_;  // [from][to] a bit for each number of iterations by which it follows
};

/// The circle with the tasks of `kept` (a bit for each) as themselves, and what lies between them as work.
Term term_of(const Circle& circle, std::uint32_t kept, const Precedence& precedence, std::size_t tasks) {
  Term term(tasks);
  const double part = 1.0 / circle.lag;
  const std::size_t size = circle.tasks.size();
  for (std::size_t at = 0; at < size; ++at) {
    if (((kept >> at) & 1U) == 0) continue;
    term[circle.tasks[at]].seconds += part;
    std::size_t next = at;
    int lag = 0;
    do {
      lag += circle.edges[next].lag;
      next = (next + 1) % size;
    } while (((kept >> next) & 1U) == 0);
    const std::size_t to = circle.tasks[next];
    if (circle.edges[at].to == to && circle.edges[at].brings_weights) {
      term[to].refit += part;
      continue;
    }
    for (const std::size_t task : precedence.between(circle.tasks[at], to, lag)) term[task].work += part;
  }
  return term;
}

}  // namespace

namespace {

/// With generation as the whole stage that it leads, and nothing of what may be fused into that; none where the term
/// passes no generation.
std::optional<Term> with_stage(const workflow::Workflow& workflow, const Term& term) {
  Term whole = term;
  bool passes = false;
  for (std::size_t task = 0; task < term.size(); ++task) {
    if (workflow.tasks[task].kind == TaskKind::infer) whole[task] = {};
    if (workflow.tasks[task].kind != TaskKind::generate || term[task].seconds == 0) continue;
    whole[task].whole = term[task].seconds;
    whole[task].seconds = 0;
    passes = true;
  }
  return passes ? std::optional<Term>(std::move(whole)) : std::nullopt;
}

}  // namespace

std::vector<Term> bound_terms(const plan::Job& job, bool stages) {
  const std::size_t tasks = job.workflow.tasks.size();
  const std::vector<std::vector<Edge>> edges = edges_of(job);
  const Precedence precedence(edges);
  std::vector<Term> terms(1, Term(tasks));
  for (std::size_t task = 0; task < tasks; ++task) {
    // Two tasks that generate with one role's weights may share what brings them.
    const auto is_alike = [&](const Edge& edge) { return edge.brings_weights; };
    terms[0][task].work = 1;
    for (const std::vector<Edge>& of_task : edges)
      if (std::count_if(of_task.begin(), of_task.end(), is_alike) == 1 &&
          std::find_if(of_task.begin(), of_task.end(), is_alike)->to == task)
        terms[0][task].weight_sync_work = 1;
  }
  const Circles circles(edges);
  for (const Circle& circle : circles.all()) {
    const std::size_t size = circle.tasks.size();
    const std::uint32_t all = (1U << std::min<std::size_t>(size, 31)) - 1;
    for (std::uint32_t kept = size <= max_on_circle ? 1 : all; kept <= all && terms.size() < max_terms; ++kept) {
      Term term = term_of(circle, kept, precedence, tasks);
      if (std::find(terms.begin(), terms.end(), term) == terms.end()) terms.push_back(std::move(term));
    }
  }
  for (std::size_t index = 0, plain = terms.size(); stages && index < plain; ++index)
    if (auto whole = with_stage(job.workflow, terms[index]);
        whole && std::find(terms.begin(), terms.end(), *whole) == terms.end())
      terms.push_back(std::move(*whole));
  return terms;
}

}  // namespace dovetail::planner
