#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "answer/text/text.h"
#include "report/schedule/gantt.h"
#include "support/example_timelines.h"

namespace dovetail::report {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// Removes the color codes "ESC [ ... m".
std::string without_colors(const std::string& text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\x1b') {
      EXPECT_EQ(text[i + 1], '[');
      i = text.find('m', i);
      EXPECT_NE(i, std::string::npos);
    } else {
      plain += text[i];
    }
  }
  return plain;
}

TEST(TerminalGantt, DrawsLettersWithoutColor) {
  // 40 columns: the name (8), a space, and 31 for 10 ticks, which leaves no space for the peaks.
  EXPECT_EQ(render_terminal_gantt(test::small_timeline(), {40, false, 0}),
            "small\n"
            "makespan 10 ticks, bubbles 40.0%, peak..\n"
            "device 0 aaaaaa................AAAAAAAAA\n"
            "device 1 ......aaaaaaAAAAAAAbbbBBBBBB...\n"
            "tick     |0    |2    |4    |6    |8\n"
            "a/A actor forward/backward\n"
            "b/B critic forward/backward\n"
            ". idle: warm-up 10.0%  dependency 20.0%\n"
            "transfer 5.0%  drain 5.0%\n");
}

TEST(TerminalGantt, AddsPeaksIfTheyFit) {
  const auto lines = lines_of(render_terminal_gantt(test::small_timeline(), {60, false, 0}));
  EXPECT_EQ(lines[1], "makespan 10 ticks, bubbles 40.0%, peak activation 2.5");
  EXPECT_EQ(lines[2].substr(55), " 1.64");
  EXPECT_EQ(lines[3].substr(55), "  2.5");
  EXPECT_EQ(lines[4].substr(55), " peak");
}

TEST(TerminalGantt, ScalesToALongerTimeline) {
  TerminalStyle style{60, false, 0};
  const auto whole = lines_of(render_terminal_gantt(test::small_timeline(), style));
  style.scale_end = test::small_timeline().end * 2;
  const auto half = lines_of(render_terminal_gantt(test::small_timeline(), style));
  // The name (8), a space, half of 46, a space and the peak.
  EXPECT_EQ(whole[2].size(), 60U);
  EXPECT_EQ(half[2].size(), 60U - 23U);
  EXPECT_EQ(half[2].substr(32), " 1.64");
  style.scale_end = base::Ticks(1);
  EXPECT_EQ(lines_of(render_terminal_gantt(test::small_timeline(), style)), whole);
}

TEST(TerminalGantt, FitsEveryWidth) {
  for (const auto& timeline : {test::small_timeline(), test::hostile_timeline(), test::large_timeline(20, 300),
                               test::large_timeline(3, 7), timeline::Timeline{}}) {
    for (int columns = 40; columns <= 200; ++columns) {
      for (const bool color : {false, true}) {
        const std::string text = render_terminal_gantt(timeline, {columns, color, 0});
        for (const std::string& line : lines_of(color ? without_colors(text) : text)) {
          ASSERT_LE(answer::count_code_points(line), static_cast<std::size_t>(columns)) << line;
        }
      }
    }
  }
}

TEST(TerminalGantt, IsPlainAsciiWithoutColor) {
  for (const auto& timeline : {test::small_timeline(), test::hostile_timeline(), test::large_timeline(20, 300)}) {
    for (const char character : render_terminal_gantt(timeline, {100, false, 0})) {
      const bool plain = character == '\n' || (character >= ' ' && character <= '~');
      ASSERT_TRUE(plain) << static_cast<int>(character);
    }
  }
}

TEST(TerminalGantt, RemovesControlCharactersFromNames) {
  const std::string text = render_terminal_gantt(test::hostile_timeline(), {120, true, 0});
  EXPECT_THAT(text, Not(HasSubstr("\x1b[31m")));
  EXPECT_THAT(text, Not(HasSubstr("\x1b[2J")));
  EXPECT_THAT(text, HasSubstr("r\xC3\xA9ward"));
}

TEST(TerminalGantt, ColorsAndLabelsBars) {
  const std::string text = render_terminal_gantt(test::small_timeline(), {80, true, 0});
  EXPECT_THAT(text, HasSubstr("48;5;"));
  const auto lines = lines_of(text);
  EXPECT_THAT(lines[2], StartsWith("device 0 \x1b[0;30;48;5;"));
  EXPECT_THAT(without_colors(lines[2]), StartsWith("device 0 7            \u00B7\u00B7"));
  EXPECT_THAT(lines[3], HasSubstr("\x1b[0;97;48;5;")) << "white on dark";
  for (const std::string& line : lines) {
    const bool resets = line.find('\x1b') == std::string::npos || line.find("\x1b[0m") != std::string::npos;
    EXPECT_TRUE(resets) << line;
  }
  EXPECT_THAT(without_colors(text), HasSubstr(" F  B  actor"));
  EXPECT_THAT(without_colors(text),
              HasSubstr("idle: warm-up 10.0%  \u00B7 dependency 20.0%  \u203A transfer 5.0%  drain 5.0%"));
}

TEST(TerminalGantt, MarksTheBoundaryOfBarsOfTheSameColor) {
  timeline::Timeline timeline = test::small_timeline();
  bars_of(timeline, 1)[2].bar_kind = timeline::BarKind::forward;
  EXPECT_THAT(without_colors(lines_of(render_terminal_gantt(timeline, {80, true, 0}))[3]),
              HasSubstr("7            \u2595"
                        "7"));
}

TEST(TerminalGantt, OmitsLanesEvenly) {
  const auto lines = lines_of(render_terminal_gantt(test::large_timeline(64, 10), {80, false, 4}));
  EXPECT_THAT(lines[2], StartsWith("device 0 "));
  EXPECT_THAT(lines[3], StartsWith("device 16 "));
  EXPECT_THAT(lines[5], StartsWith("device 48 "));
  EXPECT_THAT(lines[6], StartsWith("tick"));
  EXPECT_EQ(lines[7], "(4 of 64 devices shown)");
}

TEST(TerminalGantt, NamesWeightGradientsAndSteps) {
  timeline::Timeline timeline = test::small_timeline();
  bars_of(timeline, 1)[3].bar_kind = timeline::BarKind::weight_gradient;
  bars_of(timeline, 1)[4].bar_kind = timeline::BarKind::step;
  const std::string text = render_terminal_gantt(timeline, {100, false, 0});
  EXPECT_THAT(text, HasSubstr("AAwwwww"));
  EXPECT_THAT(text, HasSubstr("ssss"));
  EXPECT_THAT(text, HasSubstr("w weight gradient  s optimizer step"));
}

TEST(TerminalGantt, HasAtMostTenLegendEntries) {
  timeline::Timeline timeline = test::small_timeline();
  for (int model = 2; model < 14; ++model) timeline.tracks.push_back({"model" + std::to_string(model), model, 0});
  const std::string text = render_terminal_gantt(timeline, {80, false, 0});
  // Four causes of idle time leave six entries.
  EXPECT_THAT(text, HasSubstr("e/E model4 forward/backward"));
  EXPECT_THAT(text, Not(HasSubstr("model5")));
  EXPECT_THAT(text, HasSubstr("other pipelines: 9"));
}

TEST(TerminalGantt, UsesLettersPerModelIfThereAreManyPipelines) {
  timeline::Timeline timeline = test::small_timeline();
  timeline.tracks.clear();
  for (int replica = 0; replica < 30; ++replica)
    timeline.tracks.push_back({"actor/" + std::to_string(replica), 0, replica});
  bars_of(timeline, 1)[3].track = 29;
  const std::string text = render_terminal_gantt(timeline, {80, false, 0});
  EXPECT_THAT(text, HasSubstr("a/A actor/0 forward/backward"));
  EXPECT_THAT(text, Not(HasSubstr("b/B")));
}

}  // namespace
}  // namespace dovetail::report
