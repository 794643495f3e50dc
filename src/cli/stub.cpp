#include "cli/stub.h"

#include <fmt/format.h>

#include <utility>
#include <variant>

#include "cli/asking.h"
#include "cli/stub_launch.h"
#include "report/overlay/overlay.h"
#include "report/page/html.h"
#include "report/schedule/svg.h"
#include "timeline/chrome_trace_file.h"

namespace dovetail::cli {
namespace {

/// How the timeline is written.
enum class PictureFormat { chrome, svg, html };

base::Result<PictureFormat> picture_format_of(const std::string& path) {
  if (path.ends_with(".trace.json") || path.ends_with(".chrome.json")) return PictureFormat::chrome;
  if (path.ends_with(".svg")) return PictureFormat::svg;
  if (path.ends_with(".html")) return PictureFormat::html;
  return base::bad_input(
      fmt::format("the extension of '{}' does not tell the format; accepted: .trace.json, .svg, .html", path));
}

/// The schedule (A) and what was measured (B), over each other.
std::string content_of(const answer::ReplayAnswer& answer, PictureFormat format) {
  report::Page page =
      report::overlay_page({"schedule", planned_timeline(answer)}, {"measured", measured_timeline(answer)},
                           fmt::format("{}, replayed", answer.source.name));
  if (format == PictureFormat::html) return report::render_html(page);
  timeline::Timeline timeline = std::get<report::Chart>(std::move(page.sections.front())).timeline;
  timeline.title = page.title + ": A, the schedule; B, measured";
  return format == PictureFormat::svg ? report::render_svg(timeline) : timeline::render_chrome_trace(timeline);
}

}  // namespace

base::Result<int> run_stub(const StubArguments& arguments) {
  PictureFormat format = PictureFormat::chrome;
  if (arguments.output) {
    DOVETAIL_TRY(format, picture_format_of(*arguments.output));
    DOVETAIL_CHECK(check_output_path(*arguments.output));
  }
  answer::ReplayRequest request = arguments.request;
  request.launch = launch_replay;
  DOVETAIL_TRY(const answer::ReplayAnswer answer, ask(request, "train", {arguments.output}));
  DOVETAIL_CHECK(deliver(answer, arguments.json, {arguments.output, [&] { return content_of(answer, format); }}));
  return exit_code_of(answer.outcome);
}

}  // namespace dovetail::cli
