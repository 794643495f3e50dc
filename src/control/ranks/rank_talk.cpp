#include "control/ranks/rank_talk.h"

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

std::string encode(const Places<GeneratedResponse>& responses) {
  json all = json::array();
  for (const auto& [place, response] : responses)
    all.push_back({place, response.tokens, response.log_probabilities, response.ended,
                   response.text_bytes ? json(*response.text_bytes) : json()});
  return to_bytes(all);
}

Places<GeneratedResponse> decode_responses(const std::string& bytes) {
  Places<GeneratedResponse> responses;
  for (const json& each : from_bytes(bytes))
    responses.emplace_back(
        each[0].get<std::size_t>(),
        GeneratedResponse{each[1].get<std::vector<TokenId>>(), each[2].get<std::vector<double>>(), each[3].get<bool>(),
                          each[4].is_null() ? std::nullopt : std::optional(each[4].get<std::size_t>())});
  return responses;
}

std::string encode(const Places<Scores>& scores) {
  json all = json::array();
  for (const auto& [place, of] : scores) all.push_back({place, of.values, of.entropies});
  return to_bytes(all);
}

Places<Scores> decode_scores(const std::string& bytes) {
  Places<Scores> scores;
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
  const json said = from_bytes(bytes);
  if (const auto error = said.find("error"); error != said.end()) return error_of(*error);
  return said["numbers"].get<std::vector<double>>();
}

using base::Result;

Result<std::vector<std::string>> RankTalk::exchange(std::string own) {
  own.push_back(parallel::is_requested(local_) ? 1 : 0);
  DOVETAIL_TRY(std::vector<std::string> said,
               transport::exchange(transport_, take_number(), std::move(own), transport::Clock::now() + timeout_));
  for (std::string& text : said) {
    if (text.back() == 1) agreed_.request();
    text.pop_back();
  }
  return said;
}

Result<std::string> RankTalk::hear_first(std::string own) {
  DOVETAIL_TRY(std::vector<std::string> said, exchange(rank() == 0 ? std::move(own) : std::string()));
  return std::move(said.front());
}

base::Status RankTalk::agree(const base::Status& own) {
  DOVETAIL_TRY(const std::vector<std::string> said, exchange(own.ok() ? std::string() : encode(own.error())));
  for (const std::string& text : said)
    if (!text.empty()) return decode_error(text);
  return {};
}

Judge shared_judge(Judge own, RankTalk& talk) {
  return [own = std::move(own), &talk](std::span<const Response> responses,
                                       const parallel::Cancellation*) -> base::Result<std::vector<double>> {
    DOVETAIL_TRY(const std::string said,
                 talk.hear_first(talk.rank() == 0 ? encode(own(responses, talk.local())) : std::string()));
    return decode_numbers(said);
  };
}

}  // namespace dovetail::control
