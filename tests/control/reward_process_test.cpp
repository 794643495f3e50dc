#include "control/reward_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>

#include "base/stopwatch.h"
#include "support/temporary_folder.h"

namespace dovetail::control {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// Reward command in Python: `judge(q)` returns the lines that it writes for a response.
RewardCommand python(const std::string& judge, double timeout = 20) {
  return {{"python3", "-u", "-c",
           "import json, os, sys, time\n" + judge +
               "\nfor line in sys.stdin:\n    for text in judge(json.loads(line)):\n        print(text)\n"},
          1,
          timeout};
}

const std::string by_length = "def judge(q): return [json.dumps({'id': q['id'], 'reward': len(q['response'])})]";

std::vector<Response> some(int count) {
  std::vector<Response> responses;
  for (int index = 0; index < count; ++index)
    responses.push_back(
        {"r" + std::to_string(index), "a \"prompt\"\n", std::string(static_cast<std::size_t>(index % 7), 'x'), ""});
  return responses;
}

base::Result<std::vector<double>> judged(const RewardCommand& command, const std::vector<Response>& responses) {
  auto processes = RewardProcesses::start(command);
  if (!processes.ok()) return processes.error();
  return processes->rewards_of(responses);
}

std::string error_of(const RewardCommand& command, int count = 3) {
  const auto rewards = judged(command, some(count));
  return rewards.ok() ? "no error" : rewards.error().message;
}

TEST(RewardProcesses, JudgeEachResponse) {
  EXPECT_THAT(judged(python(by_length), some(4)).value(), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(judged(python(by_length), {}).value(), ElementsAre());
}

TEST(RewardProcesses, ReceiveTheAnswerUnchanged) {
  const RewardCommand command = python(
      "def judge(q): return [json.dumps({'id': q['id'], 'reward': q['answer']['n'][1] if q['answer'] else -1})]");
  EXPECT_THAT(judged(command, {{"a", "p", "r", R"({"n":[1,2.5]})"}, {"b", "p", "r", ""}}).value(),
              ElementsAre(2.5, -1));
}

TEST(RewardProcesses, ShareResponsesAndAnswerInAnyOrder) {
  RewardCommand command = python(
      "held = []\n"
      "def judge(q):\n"
      "    held.append(json.dumps({'id': q['id'], 'reward': len(q['response'])}))\n"
      "    if len(held) < 100: return []\n"
      "    out = held[::-1]; held.clear(); return out");
  command.processes = 3;
  const auto rewards = judged(command, some(900)).value();
  for (std::size_t index = 0; index < rewards.size(); ++index)
    ASSERT_EQ(rewards[index], static_cast<double>(index % 7));
}

TEST(RewardProcesses, AcceptTextsLargerThanAPipe) {
  std::vector<Response> responses = some(20);
  for (Response& response : responses) response.response.assign(300'000, 'y');
  const std::vector<double> rewards = judged(python(by_length), responses).value();
  for (const double reward : rewards) EXPECT_EQ(reward, 300'000);
}

TEST(RewardProcesses, AreReusable) {
  auto processes = RewardProcesses::start(python(by_length)).value();
  for (int turn = 0; turn < 3; ++turn) EXPECT_EQ(processes.rewards_of(some(5)).value().size(), 5U);
}

TEST(RewardProcesses, AreRestartedOnce) {
  const test::TemporaryFolder folder;
  const std::string once =
      "def judge(q):\n"
      "    if q['id'] == 'r2' and not os.path.exists('" +
      folder.file("was") +
      "'):\n"
      "        open('" +
      folder.file("was") +
      "', 'w').close(); ACT\n"
      "    return [json.dumps({'id': q['id'], 'reward': 1})]";
  for (const char* act : {"os._exit(3)", "time.sleep(100)"}) {
    std::string judge = once;
    judge.replace(judge.find("ACT"), 3, act);
    EXPECT_THAT(judged(python(judge, 1), some(4)).value(), ElementsAre(1, 1, 1, 1)) << act;
    std::filesystem::remove(folder.file("was"));
  }
}

TEST(RewardProcesses, ASecondFailureNamesTheResponse) {
  const std::string at =
      "def judge(q):\n    if q['id'] == 'r1': ACT\n    return [json.dumps({'id': q['id'], 'reward': 1})]";
  const auto with = [&](const std::string& act) {
    std::string judge = at;
    return judge.replace(judge.find("ACT"), 3, act);
  };
  EXPECT_EQ(error_of(python(with("os._exit(3)"))),
            "the reward command failed twice, last at response `r1`: it exited with code 3");
  EXPECT_EQ(error_of(python(with("time.sleep(100)"), 3)),
            "the reward command failed twice, last at response `r1`: no answer for 3 s (`timeout`)");
  EXPECT_EQ(error_of({{"/no/such/judge", "--now"}, 1, 10}),
            "the reward command `/no/such/judge --now` cannot be run: No such file or directory");
}

TEST(RewardProcesses, RejectMalformedAnswers) {
  const auto error_for = [](const std::string& text) {
    return error_of(python("def judge(q): return [" + text + "]"));
  };
  EXPECT_THAT(error_for("'nonsense'"), HasSubstr("the reward command wrote `nonsense`: "));
  EXPECT_THAT(error_for("'[]'"), HasSubstr("not a JSON object"));
  EXPECT_THAT(error_for("'{\"reward\": 1}'"), HasSubstr("`id` is missing"));
  EXPECT_THAT(error_for("json.dumps({'id': q['id'], 'reward': 'high'})"),
              HasSubstr("`reward` is missing or not a number"));
  EXPECT_THAT(error_for("'{\"id\": \"r0\", \"reward\": 1e999}'"), HasSubstr("the number is out of range"));
  EXPECT_THAT(error_for("'{\"id\": \"r0\", \"reward\": NaN}'"), HasSubstr("the reward command wrote"));
  EXPECT_THAT(error_for("'{\"id\": \"other\", \"reward\": 1}'"), HasSubstr("returned the unknown id `other`"));
  EXPECT_THAT(error_for("'{\"id\": \"r0\", \"reward\": 1}'"), HasSubstr("judged `r0` twice"));
}

TEST(RewardProcesses, DoNotInheritBlockedSignals) {
  sigset_t held;
  sigset_t before;
  sigemptyset(&held);
  sigaddset(&held, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &held, &before);
  const RewardCommand command = python(
      "import signal\ndef judge(q): return [json.dumps({'id': q['id'], 'reward': "
      "len(signal.pthread_sigmask(signal.SIG_BLOCK, []))})]");
  EXPECT_THAT(judged(command, some(1)).value(), ElementsAre(0));
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

TEST(RewardProcesses, StopWhenCancelled) {
  auto processes = RewardProcesses::start(python("def judge(q):\n    time.sleep(100)")).value();
  const parallel::Cancellation soon(nullptr, 0.2);
  const auto begin = std::chrono::steady_clock::now();
  const auto rewards = processes.rewards_of(some(2), &soon);
  ASSERT_FALSE(rewards.ok());
  EXPECT_EQ(rewards.error().failure, base::Failure::interrupted);
  EXPECT_LT(base::seconds_since(begin), 10);
}

}  // namespace
}  // namespace dovetail::control
