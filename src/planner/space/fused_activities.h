// Durations of fused activities from tables, for the inner loop of a search that fuses stages.
#pragma once

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "plan/fusion.h"
#include "planner/space/search_space.h"
#include "predict/closed_form/inter_stage.h"
#include "predict/closed_form/intra_stage.h"

namespace dovetail::planner {

/// Which fusions a plan has: generation with inference, and two trainings with each other.
struct FusionSelection {
  bool generation = false;
  bool training = false;

  bool any() const { return generation || training; }
  friend bool operator==(const FusionSelection&, const FusionSelection&) = default;
};

/// Returns the fusions that the job allows and that its workflow has tasks for.
FusionSelection open_fusion(const plan::Job& job);
/// Returns the fusions in `fusion` that the job requires of every plan.
FusionSelection required_fusion(const plan::Job& job, FusionSelection fusion);
/// Returns whether `fusion` includes everything in `required`.
bool has(FusionSelection fusion, FusionSelection required);

/// Durations of the fused activities in one search space, computed on first use. Thread-safe.
class FusionTables {
 public:
  /// `space` must outlive the tables.
  explicit FusionTables(const SearchSpace& space) : space_(space) {}

  struct Training {
    /// Lower bound on the fused training (intra_stage_floor). Its activations are those of a sequential schedule: the
    /// larger of the two tasks' activations.
    predict::IntraStage at_least;
    base::Ticks duration;      ///< duration of `at_least`
    std::int64_t working = 0;  ///< bytes of fused_working_memory
  };
  /// Returns the fused training of the job's train_pair(). Null if the selected choices cannot be fused. REQUIRES: both
  /// tasks are on one mesh.
  const Training* training(const plan::TrainPair& pair, const Selection& selection);

  struct Tail {
    predict::GenerationTail at;  ///< generation at one threshold
    double before = 0;           ///< seconds before inference can begin
    double hidden = 0;           ///< predict::max_hidden(), in seconds

    /// Returns a lower bound in seconds on generation fused with inference. `inference`: seconds of inference on all
    /// devices.
    double least(double inference) const { return before + at.generation.tail + std::max(0.0, inference - hidden); }
  };
  /// Returns the generation tails at those simulate::default_thresholds() that move samples, or at the threshold that
  /// the job fixes.
  const std::vector<Tail>& tails(std::size_t generate, SelectedChoice selected);

  const SearchSpace& space() const { return space_; }

 private:
  template <class Value>
  using Table = std::unordered_map<std::uint64_t, Value>;
  template <class Value, class Make>
  const Value& known(Table<Value>& table, std::uint64_t key, const Make& make);

  const SearchSpace& space_;
  std::mutex changing_;
  Table<std::vector<Tail>> tails_;
  Table<std::optional<Training>> trainings_;
};

/// Looks up and caches the durations of a selection's fused activities. Each thread needs its own object. `tables` must
/// outlive it.
class FusedActivities {
 public:
  explicit FusedActivities(FusionTables& tables);

  struct Generation {
    std::size_t number = 0;  ///< number of the stage; equal numbers mean equal stages
    const plan::GenerationStage* stage = nullptr;
    /// InterStage::seconds() at the best of simulate::default_thresholds(), or at the threshold that the job fixes
    base::Ticks duration;
    base::Ticks rest;  ///< InterStage::early()
    double threshold = 0;
  };
  /// Returns generation fused with inference. nullopt if no inference task can be fused, or if no threshold is faster
  /// than running unfused and the job fixes none.
  std::optional<Generation> generation(const Selection& selection);

  /// Lower bound on generation(), faster to compute. If the result is not cached, `exact` is false: the duration may be
  /// too short, fusion may not gain time, and rest and threshold are not set.
  struct MinGeneration {
    std::optional<Generation> generation;
    bool exact = true;
  };
  MinGeneration min_generation(const Selection& selection);

  using Training = FusionTables::Training;
  /// Returns the fused training of the job's train_pair(). Null if the job has none, or if the selected choices cannot
  /// be fused.
  const Training* training(const Selection& selection);

  /// Returns the job's train_pair(), if it has one.
  const std::optional<plan::TrainPair>& pair() const { return pair_; }

  /// Returns the plan of a selection, with those fusions in `fusion` that are possible. Generation is fused only if
  /// generation() is not nullopt.
  plan::Plan fused_plan(const Selection& selection, FusionSelection fusion);

 private:
  /// Duration, rest and threshold of a Generation.
  struct Length {
    base::Ticks duration;
    base::Ticks rest;
    double threshold = 0;
  };
  /// Cached result for one stage with one combination of choices.
  struct CachedLength {
    std::vector<std::int32_t> key;  // the stage's number, its mesh's shape, its tasks' choices; empty: unused
    std::optional<Length> length;
  };
  static void set_length(Generation& generation, const Length& length);
  std::optional<Length> fused_length(const plan::GenerationStage& stage, const Selection& selection);
  std::optional<base::Ticks> min_length(const plan::GenerationStage& stage, const Selection& selection);
  const std::vector<FusionTables::Tail>& tails_of(const plan::GenerationStage& stage, const Selection& selection);
  const plan::GenerationStage* stage_of(const Selection& selection, std::size_t& number);
  CachedLength& cached_length_of(const Generation& generation, const Selection& selection);
  const predict::InferenceTask& inference_of(std::size_t task, SelectedChoice selected);

  FusionTables& tables_;
  const SearchSpace& space_;
  std::optional<plan::TrainPair> pair_;
  std::vector<std::size_t> generating_;  // tasks
  std::vector<std::size_t> inferring_;   // tasks
  struct Stage {
    std::vector<char> together;  // [generating task, inferring task] whether both are on one mesh
    std::optional<plan::GenerationStage> stage;
  };
  std::vector<Stage> stages_;
  std::vector<char> together_;
  // [task][shape][choice]
  std::vector<std::vector<std::vector<std::optional<predict::InferenceTask>>>> inferences_;
  // entries of the shared tables that were requested
  std::unordered_map<std::uint64_t, const Training*> trainings_;
  predict::InferenceLoad load_;
  std::vector<CachedLength> cached_lengths_;  // [hash of the key] the last result with this hash
  std::vector<std::int32_t> key_;
};

}  // namespace dovetail::planner
