// Where what a run shows and keeps goes: the seam between the controller and the folder of a run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/tokenizer.h"

namespace dovetail::control {

struct RunState;

/// A figure of an iteration or an evaluation.
struct Figure {
  std::string name;        ///< in snake case: "reward", "seconds_actor_train"
  double value = 0;        ///< NaN where there is none: the name stays, so that all rows have the same columns
  bool is_timing = false;  ///< it hangs on the machine: a resumed run has others
};

/// In the order in which they are shown; the first one is `iteration`, from 1.
using Figures = std::vector<Figure>;

/// A response of an iteration, with what was made of it.
struct SampleRecord {
  std::int64_t iteration = 0;  ///< from 1
  std::int64_t epoch = 0;      ///< of the data, from 0
  std::int64_t prompt = 0;     ///< its place in the data, from 0
  std::int64_t copy = 0;       ///< which of the prompt's responses, from 0
  std::string prompt_text;
  std::string response_text;  ///< up to what ended it, special tokens left out
  std::vector<text::TokenId> prompt_tokens;
  std::vector<text::TokenId> response_tokens;
  double reward = 0;  ///< as judged, before any shaping
  bool ended = false;
  // Of each token of the response.
  std::vector<double> log_probabilities;  ///< of the policy that sampled it: what ratios are taken to
  std::vector<double> reference;          ///< log-probabilities of the reference; empty without one
  std::vector<double> values;             ///< before the token, in units of rewards; empty without a critic
  std::vector<double> advantages;
};

/// Why a checkpoint is written.
enum class CheckpointReason {
  due,          ///< so many iterations have passed
  best,         ///< none was better, by what `checkpoint.best` says; kept beside those that are due
  interrupted,  ///< the run was asked to stop; maybe within an iteration
  failed,       ///< the run ends with an Error; what was done before it is kept
  done,         ///< the run's last iteration is over
};

/// Takes what a run tells, in the order in which it happens. An Error ends the run. All calls come from the thread that
/// runs it.
///
/// A run that goes on from a checkpoint tells again what came after it: whoever keeps rows first drops those of
/// iterations beyond RunState::iteration, and of evaluations beyond RunState::evaluated.
class RunSink {
 public:
  virtual ~RunSink() = default;

  /// An iteration is over.
  virtual base::Status on_metrics(const Figures& figures) = 0;
  /// The responses of the iteration, just before on_metrics; none where nothing is generated.
  virtual base::Status on_samples(const std::vector<SampleRecord>& samples) = 0;
  /// An evaluation is over: `iteration` iterations were before it, 0 for the models that the run starts with.
  virtual base::Status on_evaluation(const Figures& figures) = 0;
  /// `done` of the `total` sequences of a task ("actor_generate") or of "evaluate" in iteration `iteration`, from 1.
  /// Of a train task all epochs are counted. Comes often: whoever shows it does so now and then.
  virtual void on_progress(std::int64_t iteration, std::string_view task, std::size_t done, std::size_t total) = 0;
  /// A run goes wrong; said once, until it has recovered.
  virtual void on_warning(const std::string& text) = 0;
  /// The state is to be kept, with the weights that the models have now (Models::save).
  virtual base::Status checkpoint(const RunState& state, CheckpointReason reason) = 0;
};

}  // namespace dovetail::control
