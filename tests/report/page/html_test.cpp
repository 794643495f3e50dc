#include "report/page/html.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

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

/// The data within the page, as a browser finds it: up to the first end of a script.
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

TEST(Html, IsOnePageThatLoadsNothing) {
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

TEST(Html, NamesCannotLeaveTheirPlaces) {
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

TEST(Html, KeepsTheNamesOfHostileTimelines) {
  Page page;
  page.sections.push_back(Chart{"Timeline", "", test::hostile_timeline()});
  const nlohmann::json data = data_of(render_html(page));
  EXPECT_THAT(data.at("sections").at(0).at("lanes").at(0).at("name").get<std::string>(), HasSubstr("device <0>"));
}

TEST(Html, IsTheSameToTheByte) { EXPECT_EQ(render_html(page_named("a")), render_html(page_named("a"))); }

}  // namespace
}  // namespace dovetail::report
