#include "control/ranks/rank_exchange.h"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "transport/transport.h"

namespace dovetail::control {
namespace {

using nlohmann::json;

std::string to_bytes(const json& value) {
  std::string bytes;
  json::to_cbor(value, bytes);
  return bytes;
}

json from_bytes(const std::string& bytes) { return json::from_cbor(bytes); }

json to_json(const base::Error& error) {
  return {static_cast<int>(error.failure), error.path, error.line, error.column, error.message};
}

base::Error error_of(const json& value) {
  return {static_cast<base::Failure>(value[0].get<int>()), value[1].get<std::string>(), value[2].get<int>(),
          value[3].get<int>(), value[4].get<std::string>()};
}

}  // namespace

std::string encode(const IndexedResults<GeneratedResponse>& responses) {
  json all = json::array();
  for (const auto& [place, response] : responses)
    all.push_back({place, response.tokens, response.log_probabilities, response.ended,
                   response.text_bytes ? json(*response.text_bytes) : json()});
  return to_bytes(all);
}

IndexedResults<GeneratedResponse> decode_responses(const std::string& bytes) {
  IndexedResults<GeneratedResponse> responses;
  for (const json& each : from_bytes(bytes))
    responses.emplace_back(
        each[0].get<std::size_t>(),
        GeneratedResponse{each[1].get<std::vector<TokenId>>(), each[2].get<std::vector<double>>(), each[3].get<bool>(),
                          each[4].is_null() ? std::nullopt : std::optional(each[4].get<std::size_t>())});
  return responses;
}

std::string encode(const IndexedResults<Scores>& scores) {
  json all = json::array();
  for (const auto& [place, of] : scores) all.push_back({place, of.values, of.entropies});
  return to_bytes(all);
}

IndexedResults<Scores> decode_scores(const std::string& bytes) {
  IndexedResults<Scores> scores;
  for (const json& each : from_bytes(bytes))
    scores.emplace_back(each[0].get<std::size_t>(),
                        Scores{each[1].get<std::vector<double>>(), each[2].get<std::vector<double>>()});
  return scores;
}

std::string encode(const RankUsage& usage) { return to_bytes({usage.processor_seconds, usage.live}); }

RankUsage decode_usage(const std::string& bytes) {
  const json value = from_bytes(bytes);
  return {value[0].get<double>(), value[1].get<std::int64_t>()};
}

std::string encode(const execute::OpMedians& medians) {
  json all = json::array();
  for (const auto& [ops, time] : medians)
    all.push_back({ops.model.value, ops.stage.value, static_cast<int>(ops.kind), time.count()});
  return to_bytes(all);
}

execute::OpMedians decode_medians(const std::string& bytes) {
  execute::OpMedians medians;
  for (const json& each : from_bytes(bytes))
    medians.emplace(
        execute::SameOps{base::ModelId(each[0].get<std::int32_t>()), base::StageId(each[1].get<std::int32_t>()),
                         static_cast<pipeline::OpKind>(each[2].get<int>())},
        base::Ticks(each[3].get<std::int64_t>()));
  return medians;
}

std::string encode(const base::Error& error) { return to_bytes(to_json(error)); }

base::Error decode_error(const std::string& bytes) { return error_of(from_bytes(bytes)); }

std::string encode(const base::Result<std::vector<double>>& numbers) {
  return to_bytes(numbers.ok() ? json{{"numbers", *numbers}} : json{{"error", to_json(numbers.error())}});
}

base::Result<std::vector<double>> decode_numbers(const std::string& bytes) {
  const json message = from_bytes(bytes);
  if (const auto error = message.find("error"); error != message.end()) return error_of(*error);
  return message["numbers"].get<std::vector<double>>();
}

using base::Result;

Result<std::vector<std::string>> RankExchange::all_gather(std::string own) {
  own.push_back(parallel::is_requested(local_) ? 1 : 0);
  DOVETAIL_TRY(std::vector<std::string> gathered,
               transport::exchange(transport_, take_number(), std::move(own), transport::Clock::now() + timeout_));
  for (std::string& text : gathered) {
    if (text.back() == 1) agreed_.request();
    text.pop_back();
  }
  return gathered;
}

Result<std::string> RankExchange::broadcast(std::string own) {
  DOVETAIL_TRY(std::vector<std::string> gathered, all_gather(rank() == 0 ? std::move(own) : std::string()));
  return std::move(gathered.front());
}

base::Status RankExchange::agree(const base::Status& own) {
  DOVETAIL_TRY(const std::vector<std::string> gathered, all_gather(own.ok() ? std::string() : encode(own.error())));
  for (const std::string& text : gathered)
    if (!text.empty()) return decode_error(text);
  return {};
}

RewardFunction shared_reward_function(RewardFunction own, RankExchange& rank_exchange) {
  return [own = std::move(own), &rank_exchange](std::span<const Response> responses,
                                                const parallel::Cancellation*) -> base::Result<std::vector<double>> {
    DOVETAIL_TRY(const std::string message,
                 rank_exchange.broadcast(rank_exchange.rank() == 0 ? encode(own(responses, rank_exchange.local()))
                                                                   : std::string()));
    return decode_numbers(message);
  };
}

}  // namespace dovetail::control
