// Interface between the controller, which implements the algorithms, and the runtime, which computes with tensors.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "control/run_settings.h"
#include "learn/sampling.h"
#include "parallel/cancellation.h"
#include "plan/task_plan.h"
#include "text/tokenizer.h"

namespace dovetail::control {

/// Sums of training statistics over the micro-batches of a mini-batch, or over the mini-batches of an iteration.
/// A sum divided by `weight` is a mean; `loss` and the maxima are not divided. Statistics that do not apply to a loss
/// are 0.
struct TrainingSums {
  double weight = 0;  ///< number of tokens (policy, texts), values (critic) or pairs
  double loss = 0;    ///< weighted mean of a mini-batch; over an iteration, the sum of these means
  double entropy = 0;
  double clipped = 0;
  double ratio = 0;
  double max_ratio = 0;
  double divergence = 0;  ///< KL divergence from the policy before training, estimator k3
  double gap = 0;         ///< |log-probability - the engine's log-probability|
  double max_gap = 0;
  double squared_error = 0;
  double target = 0;
  double squared_target = 0;
  double accurate = 0;  ///< number of correctly ordered pairs
  double margin = 0;
  double log_probability = 0;

  void add(const TrainingSums& more);
};

inline void TrainingSums::add(const TrainingSums& more) {
  weight += more.weight;
  loss += more.loss;
  entropy += more.entropy;
  clipped += more.clipped;
  ratio += more.ratio;
  max_ratio = std::max(max_ratio, more.max_ratio);
  divergence += more.divergence;
  gap += more.gap;
  max_gap = std::max(max_gap, more.max_gap);
  squared_error += more.squared_error;
  target += more.target;
  squared_target += more.squared_target;
  accurate += more.accurate;
  margin += more.margin;
  log_probability += more.log_probability;
}

using text::TokenId;

/// Request to sample one response.
struct GenerationRequest {
  std::vector<TokenId> prompt;
  std::int64_t group = 0;  ///< requests of one group have the same prompt
  learn::DrawKey key;      ///< key of the first token; later tokens increment its position
};

/// Sampling settings that all requests of a generation call share.
struct GenerationSettings {
  learn::SamplingLimits limits;
  std::int64_t max_tokens = 1;
  std::int64_t min_tokens = 0;                 ///< the response cannot end before this many tokens
  std::vector<TokenId> ends;                   ///< tokens that end a response and are part of it
  std::vector<std::string> stops;              ///< strings that end a response
  const text::Tokenizer* tokenizer = nullptr;  ///< converts tokens to bytes, to search for `stops`
  plan::Engine engine;                         ///< limits of the batch that is decoded together
};

/// Response to one GenerationRequest.
struct GeneratedResponse {
  std::vector<TokenId> tokens;            ///< at least one
  std::vector<double> log_probabilities;  ///< per token, from logits / temperature (0 counts as 1), before top_k/top_p
  bool ended = false;  ///< ended by a token of `ends` or a string of `stops`; false: cut off at max_tokens
  std::optional<std::size_t> text_bytes;  ///< bytes before the stop string that ended the response, if one did
};

/// Tokens of a sequence, such as a prompt with its response. Models score the tokens from `first_scored` to the end.
struct TokenSequence {
  std::vector<TokenId> tokens;
  std::size_t first_scored = 1;  ///< at least 1, less than the number of tokens

  std::size_t scored() const { return tokens.size() - first_scored; }
};

/// Model output for a sequence. With a language model head, `values` are the log-probabilities of the scored tokens,
/// and `entropies` are the entropies, in nats, of the distributions they are drawn from. With a scalar head, `values`
/// are the outputs at the token before the first scored one and at each scored token, and `entropies` is empty.
struct Scores {
  std::vector<double> values;
  std::vector<double> entropies;
};

/// Gradient of a mini-batch's loss with respect to the scores of one sequence.
struct ScoreSlopes {
  std::vector<double> values;
  std::vector<double> entropies;  ///< empty if the loss does not depend on them
};

/// Function that returns the gradients for the sequences of a micro-batch, given their scores, and adds the statistics
/// of the micro-batch to `sums`. `ids` are the indexes of the sequences in the mini-batch.
using MicroBatchLoss = std::function<std::vector<ScoreSlopes>(std::span<const std::size_t> ids,
                                                              std::span<const Scores> scores, TrainingSums& sums)>;

/// Sequences of one mini-batch and their loss.
struct MiniBatch {
  std::vector<TokenSequence> sequences;
  std::size_t kept_together = 1;  ///< see PassSettings
  MicroBatchLoss loss;
};

/// Settings of forward and backward passes: the temperature, how sequences form micro-batches, cancellation and
/// progress.
struct PassSettings {
  double temperature = 1;  ///< divides the logits
  plan::MicroBatching micro_batching;
  std::size_t kept_together = 1;  ///< number of consecutive sequences that must share a micro-batch: 2 for pairs
  const parallel::Cancellation* cancellation = nullptr;  ///< checked between micro-batches, on one rank only
  std::function<void(std::size_t done)>
      on_progress;  ///< called by Models::score with the number of sequences scored so far; may be empty
};

/// Settings of one AdamW step: the role's optimizer, the factor of the rate schedule, and the factor that clips
/// gradients.
struct StepSettings {
  OptimizerSettings optimizer;
  double rate_part = 1;    ///< factor of the learning rate
  double clip_factor = 1;  ///< factor of the gradients
};

/// Decision after the gradients of a mini-batch are computed.
struct StepDecision {
  std::optional<StepSettings> step;  ///< nullopt to skip the step
  bool ends = false;                 ///< true if the remaining mini-batches are not trained
};

/// Training of one role in a phase: mini-batches in order, each followed by an optimizer step unless `decide` skips it.
struct Training {
  std::string role;
  std::vector<MiniBatch> mini_batches;
  PassSettings settings;
  /// Called on every rank once for each trained mini-batch, in order, with the global norm of its gradients (in double
  /// precision) and its sums. The result must be the same on all ranks. An Error ends the training.
  std::function<base::Result<StepDecision>(std::size_t mini_batch, double norm, const TrainingSums& sums)> decide;
};

/// Resources that a rank has used since the previous Models::take_usage().
struct RankUsage {
  double processor_seconds = 0;  ///< CPU time of its tasks, without rewards, file output and reports
  std::int64_t live = 0;         ///< peak memory of tensors during training, in bytes
};

/// The models of a run. Each belongs to a role of the workflow. Errors are Failure::interrupted after a cancellation,
/// Failure::lost if another rank is lost, and Failure::io if a disk fails. If memory runs out, a call returns
/// Failure::io or throws. A failed call keeps completed optimizer steps, and responses that it passed to `on_response`
/// are complete.
class Models {
 public:
  virtual ~Models() = default;

  /// Returns the responses to `requests` in order. Passes each to `on_response` as soon as this rank has it. On the
  /// CPU, a response depends only on its own request, the weights and `settings` (except `engine`). On a GPU, rounding
  /// may also depend on the other requests.
  virtual base::Result<std::vector<GeneratedResponse>> generate(
      const std::string& role, std::span<const GenerationRequest> requests, const GenerationSettings& settings,
      const parallel::Cancellation* cancellation,
      const std::function<void(std::size_t index, const GeneratedResponse&)>& on_response) = 0;

  /// Runs the role's model over `sequences` and returns their scores, in the same order.
  virtual base::Result<std::vector<Scores>> score(const std::string& role, std::span<const TokenSequence> sequences,
                                                  const PassSettings& settings) = 0;

  /// Trains each role by AdamW. The mini-batches of one role are trained in order. Mini-batches of different roles may
  /// be trained in any order.
  virtual base::Status train(std::span<const Training> trainings) = 0;

  /// Updates the weights w of a role that is a moving average: w = decay * w + (1 - decay) * weights of `trained`.
  virtual void average(const std::string& role, const std::string& trained, double decay) = 0;

  /// Writes to `folder` the weights and optimizer states of all roles whose weights change.
  virtual base::Status save(const std::string& folder) const = 0;
  /// Restores the models from the files of save(). Returns an Error if a file is damaged or does not fit a model.
  virtual base::Status load(const std::string& folder) = 0;
  /// Writes a Hugging Face folder for the role: config.json, weights and tokenizer.
  virtual base::Status export_role(const std::string& role, const std::string& folder) const = 0;

  /// Returns the resource usage since the last call: [rank].
  virtual base::Result<std::vector<RankUsage>> take_usage() = 0;

  virtual std::int64_t parameters(const std::string& role) const = 0;
};

}  // namespace dovetail::control
