// What an iteration asks of the models: the seam between the controller, which knows the algorithm and no tensors, and
// the runtime, which has the tensors and knows no algorithm.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "control/run_settings.h"
#include "control/training_sums.h"
#include "learn/sampling.h"
#include "parallel/cancellation.h"
#include "plan/task_plan.h"
#include "text/tokenizer.h"

namespace dovetail::control {

using text::TokenId;

/// A response to be sampled.
struct GenerationRequest {
  std::vector<TokenId> prompt;
  std::int64_t group = 0;  ///< who has the same prompt has the same group
  learn::DrawKey key;      ///< of its first token; its position counts on
};

/// How all responses of a call are sampled.
struct GenerationSettings {
  learn::SamplingLimits limits;
  std::int64_t max_tokens = 1;
  std::int64_t min_tokens = 0;     ///< before them no token of `ends` is sampled, and no text of `stops` ends it
  std::vector<TokenId> ends;       ///< tokens that end a response and belong to it
  std::vector<std::string> stops;  ///< texts that end a response
  const text::Tokenizer* tokenizer = nullptr;  ///< whose bytes `stops` are looked for in
  plan::Engine engine;                         ///< how many are decoded together
};

/// A sampled response.
struct GeneratedResponse {
  std::vector<TokenId> tokens;            ///< at least one; the last one ended it, or it was cut off
  std::vector<double> log_probabilities;  ///< of each, under the logits over the temperature
  bool ended = false;                     ///< by a token of `ends` or a text of `stops`; else it was cut off
  std::optional<std::size_t> text_bytes;  ///< where a stop ended it: so many of its tokens' bytes stand before the stop
};

/// Tokens of which a model scores the last ones: those of a response.
struct TokenSequence {
  std::vector<TokenId> tokens;
  std::size_t first_scored = 1;  ///< at least 1, and less than there are tokens

  std::size_t scored() const { return tokens.size() - first_scored; }
};

/// What a model says of a sequence. A language model: of each scored token the log-probability that it follows those
/// before it, and the entropy of that distribution (in nats). A scalar head: the value at the token before the first
/// scored one, and at each scored one; no entropies.
struct Scores {
  std::vector<double> values;
  std::vector<double> entropies;
};

/// The derivative of a mini-batch's loss by what Scores has of one sequence.
struct ScoreSlopes {
  std::vector<double> values;
  std::vector<double> entropies;  ///< empty: the loss does not depend on them
};

/// Says the slopes of the sequences of a micro-batch, given what the model says of them, and adds to `sums`. `ids`:
/// their places in the mini-batch.
using MicroBatchLoss = std::function<std::vector<ScoreSlopes>(std::span<const std::size_t> ids,
                                                              std::span<const Scores> scores, TrainingSums& sums)>;

/// The sequences of one mini-batch and its loss.
struct MiniBatch {
  std::vector<TokenSequence> sequences;
  std::size_t kept_together = 1;  ///< as in PassSettings
  MicroBatchLoss loss;
};

/// How a mini-batch is computed.
struct PassSettings {
  double temperature = 1;  ///< of log-probabilities: logits are divided by it
  plan::MicroBatching micro_batching;
  std::size_t kept_together = 1;  ///< so many sequences that follow each other share a micro-batch: 2 of a pair
  const parallel::Cancellation* cancellation = nullptr;  ///< looked at between micro-batches
  std::function<void(std::size_t done)> on_progress;     ///< sequences or responses that are done; may be empty
};

/// The rates of one optimizer step (AdamW).
struct StepSettings {
  OptimizerSettings optimizer;
  double rate_part = 1;    ///< of its learning rate
  double clip_factor = 1;  ///< that gradients are multiplied by
};

/// What is done when the gradients of a mini-batch are there.
struct StepDecision {
  std::optional<StepSettings> step;  ///< nothing: none is taken
  bool ends = false;                 ///< what comes behind this mini-batch is not trained on
};

/// One role's part of a training phase: mini-batches one after the other, each with a step behind it.
struct Training {
  std::string role;
  std::vector<MiniBatch> mini_batches;
  PassSettings settings;
  /// Called once for each mini-batch that is trained on, in their order, with the global norm of its gradients (in
  /// double precision) and its sums. What it answers hangs on these alone. An Error ends the training.
  std::function<base::Result<StepDecision>(std::size_t mini_batch, double norm, const TrainingSums& sums)> decide;
};

/// What a rank took of its machine.
struct RankUsage {
  double processor_seconds = 0;  ///< of its tasks, not of what a run judges, writes and reports
  std::int64_t live = 0;         ///< bytes that its tensors had at most in a training
};

/// The models of a run. Roles are those of the workflow. An Error is Failure::interrupted where it was cancelled,
/// io where memory or a disk fails; what was asked for is then undone but for finished responses.
class Models {
 public:
  virtual ~Models() = default;

  /// The responses to `requests`, in their order, each given to `on_response` as it ends. The text of a response hangs
  /// on its prompt, its key, the settings' limits and ends, and the weights alone.
  virtual base::Result<std::vector<GeneratedResponse>> generate(
      const std::string& role, std::span<const GenerationRequest> requests, const GenerationSettings& settings,
      const parallel::Cancellation* cancellation,
      const std::function<void(std::size_t index, const GeneratedResponse&)>& on_response) = 0;

  /// What the role's model says of each sequence.
  virtual base::Result<std::vector<Scores>> score(const std::string& role, std::span<const TokenSequence> sequences,
                                                  const PassSettings& settings) = 0;

  /// Trains roles, by AdamW: of each all mini-batches in their order; those of different roles in any.
  virtual base::Status train(std::span<const Training> trainings) = 0;

  /// Moves the weights of a role that is a moving average: decay * own + (1 - decay) * `trained`.
  virtual void average(const std::string& role, const std::string& trained, double decay) = 0;

  /// Writes the weights of the roles that change, and the state of their optimizers, as files into the folder.
  virtual base::Status save(const std::string& folder) const = 0;
  /// Reads what save wrote. An Error where a file is damaged or of another run.
  virtual base::Status load(const std::string& folder) = 0;
  /// Writes a Hugging Face folder of the role: config.json, weights, and the tokenizer that belongs to it.
  virtual base::Status export_role(const std::string& role, const std::string& folder) const = 0;

  /// [rank] since it was last asked.
  virtual base::Result<std::vector<RankUsage>> take_usage() = 0;

  /// Parameters of the role's model.
  virtual std::int64_t parameters(const std::string& role) const = 0;
};

}  // namespace dovetail::control
