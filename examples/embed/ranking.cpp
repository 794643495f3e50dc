// Shows how a cluster scheduler or a notebook gets a job's plans from Dovetail: it passes the job as text, searches for
// a few seconds, and prints the answer as JSON (dovetail/ranking@2), which contains each plan completely. Usage:
// ranking [SECONDS]
#include <dovetail/answer/plans/ranking.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace answer = dovetail::answer;

namespace {

dovetail::parallel::Cancellation cancellation;

constexpr const char* job = R"(format: dovetail/job@1
name: from-a-form
algorithm: ppo
models: {actor: qwen3-4b, reward: qwen3-1.7b}
workload: {prompts: 256, prompt_length: 200, response_length: {mean: 600, sigma: 0.8, cap: 2048}}
cluster: {nodes: 1, gpus_per_node: 8, gpu: H100, host_memory: 1TB}
)";

}  // namespace

int main(int argument_count, char** arguments) {
  std::signal(SIGINT, [](int) { cancellation.request(); });  // Ctrl-C: return the best so far

  answer::RankingRequest request;
  request.job = {"the form", job};  // name in messages, and content
  request.search.budget.time_limit = argument_count > 1 ? std::atof(arguments[1]) : 5;

  answer::Callbacks callbacks;
  callbacks.cancellation = &cancellation;
  callbacks.on_figures = [](const answer::Figures& figures) {
    std::string line;
    for (const answer::ProgressField& field : figures()) line += field.text;
    std::fprintf(stderr, "%s\n", line.c_str());
  };

  const auto ranking = answer_to(request, callbacks);
  if (!ranking.ok()) {
    std::fprintf(stderr, "%s\n", to_text(ranking.error()).c_str());
    return EXIT_FAILURE;
  }
  std::printf("%s\n", to_json(*ranking).c_str());
  return ranking->outcome == answer::Outcome::infeasible ? EXIT_FAILURE : EXIT_SUCCESS;
}
