#include "control/reward_process.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "base/assert.h"
#include "base/document.h"
#include "base/fields.h"
#include "base/stopwatch.h"
#include "base/utf8.h"
#include "control/line_process.h"

namespace dovetail::control {
namespace {

using base::Result;
using base::Status;
using Clock = std::chrono::steady_clock;

std::string line_of(const Response& response) {
  return fmt::format("{{\"id\": {}, \"prompt\": {}, \"response\": {}, \"answer\": {}}}\n",
                     base::json_string(response.id), base::json_string(response.prompt),
                     base::json_string(response.response), response.answer.empty() ? "null" : response.answer);
}

/// What a line of a process says.
struct Verdict {
  std::string id;
  double reward = 0;
};

Result<Verdict> parse_verdict(std::string_view line) {
  const auto fault = [&](const std::string& what) {
    return base::bad_input(fmt::format(
        "the reward command wrote {}: {}; accepted: {{\"id\": \"...\", \"reward\": 1.0}}", base::quote(line), what));
  };
  const auto document = base::parse_json(line, "");
  if (!document.ok()) return fault(document.error().message);
  const base::Node root = document->root();
  if (!root.is_map()) return fault("this is no object");
  const auto id = root.find("id");
  const auto reward = root.find("reward");
  if (!id || !id->is_string()) return fault("it has no `id`");
  if (!reward || !reward->is_number()) return fault("it has no number as `reward`");
  constexpr double most = 1e300;
  const auto value = base::read_number(*reward, "`reward`", -most, most);
  if (!value.ok()) return fault(value.error().message);
  return Verdict{std::string(id->text()), *value};
}

/// The responses of one call and what is known of them.
class Judgement {
 public:
  explicit Judgement(std::span<const Response> responses) : responses_(responses), rewards_(responses.size()) {
    for (std::size_t index = 0; index < responses.size(); ++index) {
      const bool is_new = index_of_.emplace(responses[index].id, index).second;
      DOVETAIL_ASSERT(is_new);
    }
  }

  /// Which response the line judges.
  Result<std::size_t> take(const std::string& line) {
    DOVETAIL_TRY(const Verdict verdict, parse_verdict(line));
    const auto found = index_of_.find(verdict.id);
    if (found == index_of_.end())
      return base::bad_input(
          fmt::format("the reward command judged {}, which it was not asked for; accepted: the ids "
                      "that it reads",
                      base::quote(verdict.id)));
    if (rewards_[found->second])
      return base::bad_input(
          fmt::format("the reward command judged {} twice; accepted: each response once", base::quote(verdict.id)));
    rewards_[found->second] = verdict.reward;
    ++judged_;
    return found->second;
  }

  bool is_whole() const { return judged_ == responses_.size(); }
  std::vector<double> rewards() const {
    std::vector<double> all;
    for (const std::optional<double>& reward : rewards_) all.push_back(*reward);
    return all;
  }

 private:
  std::span<const Response> responses_;
  std::vector<std::optional<double>> rewards_;
  std::map<std::string_view, std::size_t> index_of_;
  std::size_t judged_ = 0;
};

}  // namespace

/// One process, and what it has not answered.
struct RewardProcesses::Judge {
  Judge(const RewardCommand& command, const std::string& folder) : process(command.command, folder) {}

  LineProcess process;
  std::vector<std::size_t> waiting;  ///< of the responses of this call
  int restarts = 0;                  ///< in this call
  Clock::time_point last_answer = Clock::now();

  void ask(std::size_t index, const Response& response) {
    waiting.push_back(index);
    process.send(line_of(response));
  }
};

RewardProcesses::RewardProcesses() = default;
RewardProcesses::RewardProcesses(RewardProcesses&&) noexcept = default;
RewardProcesses& RewardProcesses::operator=(RewardProcesses&&) noexcept = default;
RewardProcesses::~RewardProcesses() = default;

Result<RewardProcesses> RewardProcesses::start(const RewardCommand& command, const std::string& folder) {
  DOVETAIL_ASSERT(!command.command.empty() && command.processes > 0);
  RewardProcesses all;
  all.timeout_ = command.timeout;
  for (std::int64_t index = 0; index < command.processes; ++index) {
    all.judges_.push_back(std::make_unique<Judge>(command, folder));
    if (Status started = all.judges_.back()->process.start(); !started.ok()) {
      base::Error error = std::move(started).error();
      error.message = "the reward command " + error.message;
      return error;
    }
  }
  return all;
}

/// Starts a judge anew that has failed for the first time; `why`: nothing where it is gone.
Status RewardProcesses::restart(Judge& judge, std::span<const Response> responses, const std::string& why) {
  const std::string how = judge.process.end();
  const std::vector<std::size_t> waiting = std::exchange(judge.waiting, {});
  if (judge.restarts++ > 0)
    return base::Error{base::Failure::io, "", 0, 0,
                       fmt::format("the reward command failed twice, last at response {}: {}",
                                   base::quote(responses[waiting.front()].id), why.empty() ? how : why)};
  DOVETAIL_CHECK(judge.process.start());
  for (const std::size_t index : waiting) judge.ask(index, responses[index]);
  judge.last_answer = Clock::now();
  return {};
}

/// Until one of them can be written to or has written, and for a moment at most.
void RewardProcesses::wait() const {
  constexpr int milliseconds = 50;
  std::vector<pollfd> polls;
  for (const auto& judge : judges_)
    polls.push_back(
        {judge->process.socket(), static_cast<short>(judge->process.has_output() ? POLLIN | POLLOUT : POLLIN), 0});
  ::poll(polls.data(), polls.size(), milliseconds);
}

Result<std::vector<double>> RewardProcesses::judge(std::span<const Response> responses,
                                                   const parallel::Cancellation* cancellation) {
  Judgement judgement(responses);
  for (const auto& judge : judges_) {
    judge->waiting.clear();
    judge->restarts = 0;
    judge->last_answer = Clock::now();
  }
  for (std::size_t index = 0; index < responses.size(); ++index)
    judges_[index % judges_.size()]->ask(index, responses[index]);
  while (!judgement.is_whole()) {
    if (parallel::is_requested(cancellation))
      return base::Error{base::Failure::interrupted, "", 0, 0, "stopped while responses were judged"};
    wait();
    for (const auto& judge : judges_) {
      if (judge->waiting.empty()) continue;
      std::vector<std::string> lines;
      const bool is_there = judge->process.exchange(lines);
      for (const std::string& line : lines) {
        if (line.empty()) continue;
        DOVETAIL_TRY(const std::size_t index, judgement.take(line));
        for (const auto& asked : judges_) std::erase(asked->waiting, index);
        judge->last_answer = Clock::now();
      }
      if (judge->waiting.empty()) continue;
      if (!is_there) DOVETAIL_CHECK(restart(*judge, responses, ""));
      if (base::seconds_since(judge->last_answer) > timeout_)
        DOVETAIL_CHECK(restart(*judge, responses, fmt::format("no answer for {:g} s", timeout_)));
    }
  }
  return judgement.rewards();
}

}  // namespace dovetail::control
