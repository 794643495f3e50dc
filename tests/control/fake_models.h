// Models whose arithmetic fits on a page: the next token depends only on the last one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "control/models.h"

namespace dovetail::control {

/// Role. A language model has logits [last token][next token], a scalar head a value [last token]. Holds the trained
/// parameters and AdamW's state, all in double precision.
struct FakeRole {
  bool is_scalar = false;
  std::vector<double> weights;
  std::vector<double> first_moments = {};
  std::vector<double> second_moments = {};
  std::int64_t steps = 0;
  /// If set, gives the score of a whole sequence instead of the table.
  std::function<double(std::span<const TokenId>)> judge = {};
};

class FakeModels : public Models {
 public:
  explicit FakeModels(std::size_t vocabulary) : vocabulary_(vocabulary) {}

  void add_language_model(const std::string& role, double start = 0);
  void add_scalar(const std::string& role, std::function<double(std::span<const TokenId>)> judge = {});

  base::Result<std::vector<GeneratedResponse>> generate(
      const std::string& role, std::span<const GenerationRequest> requests, const GenerationSettings& settings,
      const parallel::Cancellation* cancellation,
      const std::function<void(std::size_t, const GeneratedResponse&)>& on_response) override;
  base::Result<std::vector<Scores>> score(const std::string& role, std::span<const TokenSequence> sequences,
                                          const PassSettings& settings) override;
  base::Status train(std::span<const Training> trainings) override;
  void average(const std::string& role, const std::string& trained, double decay) override;
  base::Status save(const std::string& folder) const override;
  base::Status load(const std::string& folder) override;
  base::Status export_role(const std::string& role, const std::string& folder) const override;
  base::Result<std::vector<RankUsage>> take_usage() override { return std::vector<RankUsage>(1); }
  std::int64_t parameters(const std::string& role) const override;

  /// Returns the probability that `next` follows `last`.
  double probability(const std::string& role, TokenId last, TokenId next) const;

  std::map<std::string, FakeRole> roles;
  std::vector<double> accumulated;  ///< gradients of the last mini-batch
  std::vector<StepSettings> taken;  ///< settings of all steps
  std::size_t sampled = 0;          ///< number of responses
  /// Sequences of all mini-batches of a role.
  std::map<std::string, std::vector<std::vector<TokenSequence>>> mini_batches;

  /// Called for every response, inferred sequence and micro-batch; may request the cancellation.
  std::function<void()> on_work;
  /// Role whose inference fails.
  std::string broken;
  /// May replace the gradient norm of a role's mini-batch.
  std::function<double(const std::string& role, double norm)> on_norm;

 private:
  std::vector<double> log_probabilities(const FakeRole& role, TokenId last, double temperature) const;
  Scores scores_of(const FakeRole& role, const TokenSequence& sequence, double temperature) const;
  void add_gradients(const FakeRole& role, const TokenSequence& sequence, double temperature,
                     const ScoreSlopes& slopes);
  base::Status train(const Training& training);
  base::Result<double> gradients(const Training& training, const MiniBatch& mini_batch, TrainingSums& sums);
  void step(const std::string& role, const StepSettings& settings);
  bool is_stopped(const parallel::Cancellation* cancellation) const;

  std::size_t vocabulary_;
};

}  // namespace dovetail::control
