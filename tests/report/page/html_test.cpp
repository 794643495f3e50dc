#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "report/page/page.h"
#include "report/schedule/schedule_page.h"
#include "support/example_timelines.h"

namespace dovetail::report {
namespace {

using testing::HasSubstr;
using testing::Not;

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

/// Extracts the data of the page as a browser does: up to the first end of a script.
nlohmann::json data_of(const std::string& html) {
  const std::string start = "<script type=\"application/json\" id=\"dovetail-report\">";
  const std::size_t begin = html.find(start) + start.size();
  return nlohmann::json::parse(html.substr(begin, html.find("</script", begin) - begin));
}

Page page_named(const std::string& name) {
  Page page;
  page.title = name;
  page.figures = {{name, name, name}};
  page.sections.push_back(Table{{{name, Align::left}}, {{name}}, name, name});
  return page;
}

TEST(Html, IsASelfContainedPage) {
  const std::string html = render_html(page_named("report"));
  EXPECT_TRUE(html.starts_with("<!doctype html>"));
  EXPECT_THAT(html, HasSubstr("default-src 'none'"));
  for (const char* outside : {" src=", "<link", "@import", "url(", "fetch(", "XMLHttpRequest"})
    EXPECT_THAT(html, Not(HasSubstr(outside))) << outside;
  EXPECT_EQ(count_of(html, "<script"), 2U);
  EXPECT_EQ(count_of(html, "</script>"), 2U);
  EXPECT_EQ(
      count_of(html, "@TITLE@") + count_of(html, "@DATA@") + count_of(html, "@SCRIPT@") + count_of(html, "@STYLE@"),
      0U);
}

TEST(Html, EscapesNames) {
  for (const std::string name : {"</script><script>alert(1)</script>", "<!--<script>", "</title><b>",
                                 "\"'&\\u003c\n\x1b\xff", "@DATA@@SCRIPT@"}) {
    const std::string html = render_html(page_named(name));
    const std::string plain = render_html(page_named("x"));
    EXPECT_EQ(count_of(html, "<script"), count_of(plain, "<script")) << name;
    EXPECT_EQ(count_of(html, "</script>"), count_of(plain, "</script>")) << name;
    EXPECT_EQ(count_of(html, "<!--"), count_of(plain, "<!--")) << name;
    EXPECT_EQ(count_of(html, "</title>"), 1U) << name;
    const nlohmann::json data = data_of(html);
    if (name.find('\xff') == std::string::npos) {
      EXPECT_EQ(data.at("title"), name);
    }
  }
}

TEST(Html, PreservesHostileNames) {
  Page page;
  page.sections.push_back(Chart{"Timeline", "", test::hostile_timeline()});
  const nlohmann::json data = data_of(render_html(page));
  EXPECT_THAT(data.at("sections").at(0).at("lanes").at(0).at("name").get<std::string>(), HasSubstr("device <0>"));
}

TEST(Html, IsDeterministic) { EXPECT_EQ(render_html(page_named("a")), render_html(page_named("a"))); }

using nlohmann::json;

TEST(PageJson, StoresBarsAsColumns) {
  Page page;
  page.title = "small";
  page.sections.push_back(Chart{"Timeline", "", test::small_timeline()});
  const json written = json::parse(page_to_json(page));
  EXPECT_EQ(written.at("format"), page_format);
  const json& chart = written.at("sections").at(0);
  EXPECT_EQ(chart.at("kind"), "gantt");
  EXPECT_EQ(chart.at("end"), 10);
  const auto bars = chart.at("length").size();
  for (const char* column : {"gap", "category", "awaits"}) EXPECT_EQ(chart.at(column).size(), bars) << column;
  for (const json& field : chart.at("fields")) EXPECT_EQ(field.at("values").size(), bars);
  std::size_t on_lanes = 0;
  for (const json& lane : chart.at("lanes")) on_lanes += lane.at("bars").get<std::size_t>();
  EXPECT_EQ(on_lanes, bars);
}

/// Returns begin and end of each bar, decoded from the columns as the page does.
std::vector<std::pair<std::int64_t, std::int64_t>> times_of(const json& chart) {
  std::vector<std::pair<std::int64_t, std::int64_t>> times;
  for (const json& lane : chart.at("lanes")) {
    std::int64_t now = 0;
    for (std::size_t i = 0; i < lane.at("bars").get<std::size_t>(); ++i) {
      const std::int64_t begin = now + chart.at("gap").at(times.size()).get<std::int64_t>();
      now = begin + chart.at("length").at(times.size()).get<std::int64_t>();
      times.emplace_back(begin, now);
    }
  }
  return times;
}

TEST(PageJson, PreservesBarTimes) {
  timeline::Timeline timeline;
  using base::Ticks;
  add_lane(timeline, "a", {{Ticks(3), Ticks(5)}, {Ticks(5), Ticks(5)}});
  add_lane(timeline, "b", {});
  add_lane(timeline, "c", {{Ticks(0), Ticks(1)}, {Ticks(1'000'000'000'000'000), Ticks(1'000'000'000'000'001)}});
  Page page;
  page.sections.push_back(Chart{"Timeline", "", timeline});
  const json written = json::parse(page_to_json(page)).at("sections").at(0);
  EXPECT_THAT(times_of(written), testing::ElementsAre(testing::Pair(3, 5), testing::Pair(5, 5), testing::Pair(0, 1),
                                                      testing::Pair(1'000'000'000'000'000, 1'000'000'000'000'001)));
  EXPECT_FALSE(written.contains("awaits")) << "no bar awaits another";
  EXPECT_TRUE(written.at("fields").empty()) << "no bar has fields";
}

TEST(PageJson, WritesFieldsThatSomeBarHas) {
  timeline::Timeline timeline;
  timeline.time_unit = base::TimeUnit::ns;
  timeline.end = base::Ticks(9);
  timeline.tracks = {{"gen", 0, 0, timeline::Track::Kind::task}};
  timeline::Bar decode{base::Ticks(0), base::Ticks(4), timeline::BarKind::decode, 0};
  decode.sequences = 12;
  decode.launch = base::Ticks(2);
  add_lane(timeline, "device 0", {decode, {base::Ticks(4), base::Ticks(9), timeline::BarKind::tail}});
  timeline.counters = {{"memory in use", "bytes", 0, {{base::Ticks(0), base::Memory(300)}}, base::Memory(500)}};
  const json written = json::parse(page_to_json({"t", "", {}, {Chart{"Timeline", "", timeline}}})).at("sections").at(0);
  EXPECT_EQ(written.at("fields"), json::parse(R"([{"name":"task","kind":"text","texts":["gen"],"values":[0,-1]},
      {"name":"sequences","kind":"number","values":[12,-1]},{"name":"waits for launches","kind":"time","values":[2,-1]}])"));
  EXPECT_EQ(written.at("curves"), json::parse(R"({"name":"memory in use","unit":"bytes",
      "curves":[{"lane":0,"time":[0],"value":[300.0],"capacity":500}]})"));
}

TEST(PageJson, WritesEverySection) {
  Breakdown breakdown{"where",
                      "",
                      base::TimeUnit::ms,
                      {{"work", {}, false}, {"idle", {}, true}},
                      {{"all", {base::Ticks(7), base::Ticks(3)}}}};
  Table table{{{"plan", Align::left}, {"time"}}, {{"best", "1 s"}, {"other", "2 s"}}, "ranked", "note", {0}, {4, -1}};
  LineChart lines{"sweep",         "", "threshold", "seconds", {{"iteration", {}, {{0.05, 99}, {0.2, 94.8}}}},
                  {{0, 1, "best"}}};
  const Page page{"t", "s", {{"makespan", "1", "n"}}, {breakdown, table, lines}};
  const json sections = json::parse(page_to_json(page)).at("sections");
  EXPECT_EQ(sections[0].at("rows").at(0).at("amounts"), json({7, 3}));
  EXPECT_EQ(sections[0].at("time_unit"), "ms");
  EXPECT_EQ(sections[1].at("rows").at(1), json({"other", "2 s"}));
  EXPECT_EQ(sections[1].at("marked"), json::array({0}));
  EXPECT_EQ(sections[1].at("bars"), json({4, -1}));
  EXPECT_EQ(sections[2].at("series").at(0).at("x"), json({0.05, 0.2}));
  EXPECT_EQ(sections[2].at("marks").at(0), json({{"series", 0}, {"point", 1}, {"text", "best"}}));
}

}  // namespace

}  // namespace dovetail::report
