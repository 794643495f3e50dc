// What stage fusion makes of a selection, from tables: what the inner loop of a search that fuses asks for.
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

/// Which fusions: of generation with inference, of two trainings.
struct FusionSelection {
  bool generation = false;
  bool training = false;

  bool any() const { return generation || training; }
  friend bool operator==(const FusionSelection&, const FusionSelection&) = default;
};

/// Those that the job lets a plan have and that its workflow has tasks for.
FusionSelection open_fusion(const plan::Job& job);
/// Those of `fusion` that the job demands of every plan.
FusionSelection demanded_fusion(const plan::Job& job, FusionSelection fusion);
/// Whether `fusion` has all that is `demanded`.
bool has(FusionSelection fusion, FusionSelection demanded);

/// What fused activities of selections of one space take, worked out when it is first asked for. Threads may ask at the
/// same time.
class FusionTables {
 public:
  /// `space` outlives it.
  explicit FusionTables(const SearchSpace& space) : space_(space) {}

  struct Training {
    predict::IntraStage at_least;  ///< intra_stage_floor, with the activations of the task that holds more: as many as
                                   ///< a schedule of both needs that runs one after the other
    base::Ticks duration;          ///< of it
    std::int64_t working = 0;      ///< bytes of fused_working_memory
  };
  /// Of the job's train_pair(); null where their choices cannot be fused. REQUIRES: both are on one mesh.
  const Training* training(const plan::TrainPair& pair, const Selection& selection);

  struct Tail {
    predict::GenerationTail at;  ///< the threshold
    double before = 0;           ///< seconds before inference begins
    double hidden = 0;           ///< max_hidden()

    /// Seconds of generation and so much inference on all devices, at the least.
    double least(double inference) const { return before + at.generation.tail + std::max(0.0, inference - hidden); }
  };
  /// Of generation at simulate::usual_thresholds() that move samples, or at the one that the job fixes.
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

/// Looks up what fused activities of a selection take, and remembers it. One for each thread; `tables` outlive it.
class FusedActivities {
 public:
  explicit FusedActivities(FusionTables& tables);

  struct Generation {
    std::size_t number = 0;  ///< of the stage: equal stages have equal numbers
    const plan::GenerationStage* stage = nullptr;
    base::Ticks duration;  ///< of InterStage::seconds() at the best of simulate::usual_thresholds(), or at the one that
                           ///< the job fixes
    base::Ticks rest;      ///< InterStage::early()
    double threshold = 0;
  };
  /// Nothing where no task infers beside generation, or no threshold is faster than without fusion (and the job fixes
  /// none).
  std::optional<Generation> generation(const Selection& selection);

  /// The same, quickly: what is not remembered may take less, be fused though that gains nothing, and has neither rest
  /// nor threshold.
  struct MinGeneration {
    std::optional<Generation> generation;
    bool exact = true;
  };
  MinGeneration min_generation(const Selection& selection);

  using Training = FusionTables::Training;
  /// Of the job's train_pair(); null where their choices cannot be fused.
  const Training* training(const Selection& selection);

  /// The job's, where it has one.
  const std::optional<plan::TrainPair>& pair() const { return pair_; }

  /// The plan of a selection with the fusions that are found for it here, of those in `fusion`.
  plan::Plan fused_plan(const Selection& selection, FusionSelection fusion);

 private:
  /// Of a Generation.
  struct Length {
    base::Ticks duration;
    base::Ticks rest;
    double threshold = 0;
  };
  /// What a stage was found to take with some choices.
  struct Remembered {
    std::vector<std::int32_t> key;  // the stage's number, its mesh's shape, its tasks' choices; empty: nothing yet
    std::optional<Length> length;
  };
  static void set_length(Generation& generation, const Length& length);
  std::optional<Length> fused_length(const plan::GenerationStage& stage, const Selection& selection);
  std::optional<base::Ticks> min_length(const plan::GenerationStage& stage, const Selection& selection);
  const std::vector<FusionTables::Tail>& tails_of(const plan::GenerationStage& stage, const Selection& selection);
  const plan::GenerationStage* stage_of(const Selection& selection, std::size_t& number);
  Remembered& remembered_of(const Generation& generation, const Selection& selection);
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
  std::vector<std::vector<std::vector<std::optional<predict::InferenceTask>>>> inferences_;  // [task][shape][choice]
  std::unordered_map<std::uint64_t, const Training*> trainings_;  // those of the tables that were asked for
  predict::InferenceLoad load_;
  std::vector<Remembered> remembered_;  // [hash of the key]: the last one of each
  std::vector<std::int32_t> key_;
};

}  // namespace dovetail::planner
