#include "answer/runs/forecast.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "answer/plans/job_input.h"
#include "answer/plans/search_options.h"
#include "answer/question/seconds.h"
#include "base/csv.h"
#include "base/document.h"

namespace dovetail::answer {
namespace {

/// Path of the file with the growth of lengths; nullopt if --lengths is a list or not given.
std::optional<Input> growth_file(const ForecastRequest& request) {
  if (!request.lengths || request.lengths->find(':') != std::string::npos) return std::nullopt;
  return Input{*request.lengths};
}

/// Checks the options that need no input.
base::Status check(const ForecastRequest& request) {
  if (request.lengths.has_value() + request.mean.has_value() + request.median.has_value() > 1)
    return base::bad_input("--lengths, --mean and --p50 cannot be combined: each describes the growth of responses");
  if (request.searches == 0 && !request.plan)
    return base::bad_input("--searches 0 needs --plan FILE: it keeps the given plan");
  return check_standard_input({request.job, request.plan, growth_file(request)});
}

base::Result<study::Growth> read_growth_file(const Input& file) {
  if (std::error_code none; file.path != "-" && !std::filesystem::exists(file.path, none))
    return base::bad_input(
        fmt::format("--lengths: {} is neither a list of factors nor a file; accepted: a CSV file, or STEP:FACTOR pairs "
                    "separated by commas, such as 0:1,500:2.5",
                    base::quote(file.path)));
  DOVETAIL_TRY(const std::string content, read_input(file));
  return study::parse_growth_table(content, name_of(file));
}

base::Result<study::Growth> read_growth(const ForecastRequest& request) {
  if (const auto file = growth_file(request)) return read_growth_file(*file);
  const auto parsed = [](const char* option, const std::string& text,
                         study::GrowthFigure figure) -> base::Result<study::Growth> {
    auto growth = study::parse_growth(text, figure);
    if (!growth.ok()) return base::bad_input(fmt::format("--{}: {}", option, growth.error().message));
    return growth;
  };
  if (request.lengths) return parsed("lengths", *request.lengths, study::GrowthFigure::factor);
  if (request.mean) return parsed("mean", *request.mean, study::GrowthFigure::mean);
  if (request.median) return parsed("p50", *request.median, study::GrowthFigure::median);
  return study::Growth{};
}

/// Cap of grown responses: the requested one, otherwise the job's longest response if enough responses reach it.
/// Constant lengths have no cap.
base::Result<std::optional<std::int64_t>> cap_of(const ForecastRequest& request, const plan::Job& job) {
  const workflow::LengthDistribution& lengths = job.workload.response_length;
  constexpr double min_at_cap = 0.001;
  const double at_longest = lengths.survival(lengths.longest() - 1);
  const bool capped = at_longest >= min_at_cap && lengths.shortest() < lengths.longest();
  return parse_length_cap(request.cap.value_or(capped ? "keep" : "scale"), job);
}

base::Result<std::vector<study::Pause>> parse_pauses(const std::vector<std::string>& texts) {
  std::vector<study::Pause> pauses;
  for (const std::string& text : texts) {
    const std::size_t colon = std::min(text.find(':'), text.size());
    const std::optional<std::int32_t> every = base::parse_index(text.substr(0, colon));
    const auto seconds = parse_seconds(colon < text.size() ? text.substr(colon + 1) : "");
    if (!every || *every < 1 || !seconds.ok())
      return base::bad_input(fmt::format(
          "--pause: {} is not a pause; accepted: STEPS:TIME, such as 100:5m for five minutes every 100 steps",
          base::quote(text)));
    pauses.push_back({*every, seconds.value()});
  }
  return pauses;
}

base::Result<study::ForecastOptions> forecast_options(const ForecastRequest& request, const plan::Job& job,
                                                      const Callbacks& callbacks) {
  study::ForecastOptions options;
  options.steps = request.steps;
  DOVETAIL_TRY(options.pauses, parse_pauses(request.pauses));
  options.restart_seconds = request.restart.value_or(0);
  options.searches = request.searches;
  DOVETAIL_TRY(options.rank, rank_options(request.search, job.placements, callbacks));
  options.on_search = [&callbacks, &name = job.name](std::int64_t step) {
    notify_label(callbacks, fmt::format("{}, plans for step {}", name, step));
  };
  return options;
}

}  // namespace

base::Result<ForecastAnswer> answer_to(const ForecastRequest& request, const Callbacks& callbacks) {
  DOVETAIL_CHECK(check(request));
  const parallel::Cancellation stop(callbacks.cancellation, request.search.budget.time_limit);
  DOVETAIL_TRY(LoadedJob loaded, load_job(request.job, request.plan, callbacks, &stop));
  const plan::Job& job = loaded.scenario.job;
  DOVETAIL_TRY(study::Growth growth, read_growth(request));
  DOVETAIL_CHECK(notify_read(callbacks));
  DOVETAIL_TRY(const std::optional<std::int64_t> cap, cap_of(request, job));
  DOVETAIL_TRY(const study::LengthGrowth lengths,
               study::LengthGrowth::of(job.workload.response_length, std::move(growth), cap));
  DOVETAIL_TRY(const study::ForecastOptions options, forecast_options(request, job, callbacks));
  auto forecast = study::forecast(loaded.scenario, loaded.plan ? &*loaded.plan : nullptr, lengths, options);
  if (!forecast.ok()) return at_input(std::move(forecast).error(), request.job);
  const Outcome outcome = forecast->steps < request.steps ? Outcome::infeasible : Outcome::done;
  ForecastAnswer answer{std::move(loaded.scenario), request.steps, cap, std::move(forecast).value(),
                        unless_interrupted(callbacks, outcome)};
  answer.scenario.cancellation = nullptr;
  return answer;
}

}  // namespace dovetail::answer
