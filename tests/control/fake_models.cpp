#include "control/fake_models.h"

#include <algorithm>
#include <cmath>

#include "base/assert.h"

namespace dovetail::control {

using base::Result;

void FakeModels::add_language_model(const std::string& role, double start) {
  FakeRole& made = roles[role];
  made.weights.assign(vocabulary_ * vocabulary_, start);
}

void FakeModels::add_scalar(const std::string& role, std::function<double(std::span<const TokenId>)> judge) {
  FakeRole& made = roles[role];
  made.is_scalar = true;
  made.weights.assign(vocabulary_, 0);
  made.judge = std::move(judge);
}

bool FakeModels::is_stopped(const parallel::Cancellation* cancellation) const {
  if (on_work) on_work();
  return parallel::is_requested(cancellation);
}

std::vector<double> FakeModels::log_probabilities(const FakeRole& role, TokenId last, double temperature) const {
  const auto row = role.weights.begin() + last * static_cast<std::ptrdiff_t>(vocabulary_);
  std::vector<double> logs(row, row + static_cast<std::ptrdiff_t>(vocabulary_));
  double sum = 0;
  for (double& log : logs) sum += std::exp(log /= temperature);
  for (double& log : logs) log -= std::log(sum);
  return logs;
}

double FakeModels::probability(const std::string& role, TokenId last, TokenId next) const {
  return std::exp(log_probabilities(roles.at(role), last, 1)[static_cast<std::size_t>(next)]);
}

Scores FakeModels::scores_of(const FakeRole& role, const TokenSequence& sequence, double temperature) const {
  Scores scores;
  for (std::size_t at = sequence.first_scored; at < sequence.tokens.size(); ++at) {
    const TokenId last = sequence.tokens[at - 1];
    if (role.is_scalar) {
      scores.values.push_back(role.weights[static_cast<std::size_t>(last)]);
      continue;
    }
    const std::vector<double> logs = log_probabilities(role, last, temperature);
    scores.values.push_back(logs[static_cast<std::size_t>(sequence.tokens[at])]);
    double entropy = 0;
    for (const double log : logs) entropy -= std::exp(log) * log;
    scores.entropies.push_back(entropy);
  }
  if (role.is_scalar)
    scores.values.push_back(role.judge ? role.judge(sequence.tokens)
                                       : role.weights[static_cast<std::size_t>(sequence.tokens.back())]);
  return scores;
}

Result<std::vector<GeneratedResponse>> FakeModels::generate(
    const std::string& role, std::span<const GenerationRequest> requests, const GenerationSettings& settings,
    const parallel::Cancellation* cancellation,
    const std::function<void(std::size_t, const GeneratedResponse&)>& on_response) {
  std::vector<GeneratedResponse> responses(requests.size());
  // In reverse order: callers must not depend on it.
  for (std::size_t index = requests.size(); index-- > 0;) {
    if (is_stopped(cancellation)) return parallel::stopped_before("all were sampled", *cancellation->ended_by());
    GeneratedResponse& response = responses[index];
    learn::DrawKey key = requests[index].key;
    TokenId last = requests[index].prompt.back();
    while (!response.ended && static_cast<std::int64_t>(response.tokens.size()) < settings.max_tokens) {
      const auto row = roles.at(role).weights.begin() + last * static_cast<std::ptrdiff_t>(vocabulary_);
      const std::vector<float> logits(row, row + static_cast<std::ptrdiff_t>(vocabulary_));
      const std::vector<double> logs = log_probabilities(roles.at(role), last, settings.limits.temperature);
      last = learn::sample(logits, settings.limits, learn::uniform_of(key));
      ++key.position;
      response.tokens.push_back(last);
      response.log_probabilities.push_back(logs[static_cast<std::size_t>(last)]);
      response.ended = std::find(settings.ends.begin(), settings.ends.end(), last) != settings.ends.end();
    }
    ++sampled;
    on_response(index, response);
  }
  return responses;
}

Result<std::vector<Scores>> FakeModels::score(const std::string& role, std::span<const TokenSequence> sequences,
                                              const PassSettings& settings) {
  if (role == broken) return base::Error{base::Failure::io, "", 0, 0, role + " is out of memory"};
  std::vector<Scores> all;
  for (const TokenSequence& sequence : sequences) {
    if (is_stopped(settings.cancellation))
      return parallel::stopped_before("all was inferred", *settings.cancellation->ended_by());
    all.push_back(scores_of(roles.at(role), sequence, settings.temperature));
  }
  return all;
}

void FakeModels::add_gradients(const FakeRole& role, const TokenSequence& sequence, double temperature,
                               const ScoreSlopes& slopes) {
  if (role.is_scalar) {
    for (std::size_t index = 0; index < slopes.values.size(); ++index)
      accumulated[static_cast<std::size_t>(sequence.tokens[sequence.first_scored - 1 + index])] += slopes.values[index];
    return;
  }
  for (std::size_t index = 0; index < slopes.values.size(); ++index) {
    const std::size_t at = sequence.first_scored + index;
    const TokenId last = sequence.tokens[at - 1];
    const std::vector<double> logs = log_probabilities(role, last, temperature);
    double entropy = 0;
    for (const double log : logs) entropy -= std::exp(log) * log;
    for (std::size_t next = 0; next < vocabulary_; ++next) {
      const double probability = std::exp(logs[next]);
      const double is_it = next == static_cast<std::size_t>(sequence.tokens[at]) ? 1 : 0;
      double slope = slopes.values[index] * (is_it - probability);
      if (!slopes.entropies.empty()) slope -= slopes.entropies[index] * probability * (logs[next] + entropy);
      accumulated[static_cast<std::size_t>(last) * vocabulary_ + next] += slope / temperature;
    }
  }
}

base::Status FakeModels::train(std::span<const Training> trainings) {
  for (const Training& training : trainings) DOVETAIL_CHECK(train(training));
  return {};
}

base::Status FakeModels::train(const Training& training) {
  for (std::size_t k = 0; k < training.mini_batches.size(); ++k) {
    TrainingSums sums;
    DOVETAIL_TRY(const double norm, gradients(training, training.mini_batches[k], sums));
    DOVETAIL_TRY(const StepDecision decision, training.decide(k, norm, sums));
    if (decision.step) step(training.role, *decision.step);
    if (decision.ends) break;
  }
  return {};
}

Result<double> FakeModels::gradients(const Training& training, const MiniBatch& batch, TrainingSums& sums) {
  const std::string& role = training.role;
  const PassSettings& settings = training.settings;
  const std::vector<TokenSequence>& mini_batch = batch.sequences;
  const FakeRole& own = roles.at(role);
  accumulated.assign(own.weights.size(), 0);
  mini_batches[role].push_back(mini_batch);
  const std::size_t each =
      batch.kept_together *
      std::max<std::size_t>(1, static_cast<std::size_t>(settings.micro_batching.sequences) / batch.kept_together);
  for (std::size_t begin = 0; begin < mini_batch.size(); begin += each) {
    if (is_stopped(settings.cancellation))
      return parallel::stopped_before("it was trained", *settings.cancellation->ended_by());
    std::vector<std::size_t> ids;
    std::vector<Scores> scores;
    for (std::size_t id = begin; id < std::min(begin + each, mini_batch.size()); ++id) {
      ids.push_back(id);
      scores.push_back(scores_of(own, mini_batch[id], settings.temperature));
    }
    const std::vector<ScoreSlopes> slopes = batch.loss(ids, scores, sums);
    for (std::size_t index = 0; index < ids.size(); ++index)
      add_gradients(own, mini_batch[ids[index]], settings.temperature, slopes.at(index));
  }
  double squares = 0;
  for (const double slope : accumulated) squares += slope * slope;
  const double norm = std::sqrt(squares);
  return on_norm ? on_norm(role, norm) : norm;
}

void FakeModels::step(const std::string& role, const StepSettings& settings) {
  FakeRole& own = roles.at(role);
  DOVETAIL_ASSERT(accumulated.size() == own.weights.size());
  own.first_moments.resize(own.weights.size());
  own.second_moments.resize(own.weights.size());
  ++own.steps;
  taken.push_back(settings);
  const double first = settings.optimizer.betas[0];
  const double second = settings.optimizer.betas[1];
  const double rate = settings.optimizer.learning_rate * settings.rate_part;
  for (std::size_t index = 0; index < own.weights.size(); ++index) {
    const double slope = accumulated[index] * settings.clip_factor;
    own.first_moments[index] = first * own.first_moments[index] + (1 - first) * slope;
    own.second_moments[index] = second * own.second_moments[index] + (1 - second) * slope * slope;
    const double mean = own.first_moments[index] / (1 - std::pow(first, static_cast<double>(own.steps)));
    const double square = own.second_moments[index] / (1 - std::pow(second, static_cast<double>(own.steps)));
    own.weights[index] -= rate * (mean / (std::sqrt(square) + settings.optimizer.epsilon) +
                                  settings.optimizer.weight_decay * own.weights[index]);
  }
  accumulated.clear();
}

void FakeModels::average(const std::string& role, const std::string& trained, double decay) {
  std::vector<double>& own = roles.at(role).weights;
  for (std::size_t index = 0; index < own.size(); ++index)
    own[index] = decay * own[index] + (1 - decay) * roles.at(trained).weights[index];
}

base::Status FakeModels::save(const std::string&) const { return base::bad_input("a fake is saved by copying it"); }
base::Status FakeModels::load(const std::string&) { return base::bad_input("a fake is saved by copying it"); }
base::Status FakeModels::export_role(const std::string&, const std::string&) const {
  return base::bad_input("a fake cannot be exported");
}
std::int64_t FakeModels::parameters(const std::string& role) const {
  return static_cast<std::int64_t>(roles.at(role).weights.size());
}

}  // namespace dovetail::control
