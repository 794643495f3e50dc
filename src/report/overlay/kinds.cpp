#include "report/overlay/kinds.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "report/overlay/pieces.h"
#include "report/page/chart_sections.h"
#include "report/page/inks.h"

namespace dovetail::report {
namespace {

/// How many there are of each kind; see inks.h.
constexpr std::size_t inks = 16;

/// Gives bars of a chart kinds of another one.
class Adoption {
 public:
  Adoption(const Chart& guessed, const Chart& known) : chart_(guessed), known_(known) {
    for (const Field& field : guessed.fields) own_.insert(field.name);
    for (std::size_t bar = 0; bar < known.bars.size(); ++bar)
      if (!is_idle_bar(known, bar)) example_.try_emplace(bar_title(known, bar), bar);
  }

  Chart run() && {
    std::vector<std::string> titles;
    for (std::size_t bar = 0; bar < chart_.bars.size(); ++bar) titles.push_back(bar_title(chart_, bar));
    for (std::size_t bar = 0; bar < chart_.bars.size(); ++bar) {
      if (is_idle_bar(chart_, bar))
        adopt_idle(bar, titles[bar]);
      else if (const auto example = example_.find(titles[bar]); example != example_.end())
        adopt(bar, known_.bars[example->second].category, example->second);
    }
    drop_unused();
    return std::move(chart_);
  }

 private:
  void adopt_idle(std::size_t bar, std::string_view title) {
    std::optional<std::size_t> best;
    for (std::size_t category = 0; category < known_.categories.size(); ++category) {
      const std::string& name = known_.categories[category].name;
      const bool begins = title == name || (title.starts_with(name) && title[name.size()] == ' ');
      if (!known_.categories[category].idle || !begins) continue;
      if (!best || name.size() > known_.categories[*best].name.size()) best = category;
    }
    if (best) adopt(bar, static_cast<std::int32_t>(*best), std::nullopt);
  }

  void adopt(std::size_t bar, std::int32_t category, std::optional<std::size_t> example) {
    const auto [place, added] = adopted_.try_emplace(category, static_cast<std::int32_t>(chart_.categories.size()));
    const Category& of = known_.categories[static_cast<std::size_t>(category)];
    if (added) chart_.categories.push_back(of);
    chart_.bars[bar].category = place->second;
    if (!example) return;
    for (const Field& field : known_.fields)
      if (of.bar_title.find("{" + field.name + "}") != std::string::npos && !own_.contains(field.name))
        field_like(field).values[bar] = field.values[*example];
  }

  Field& field_like(const Field& field) {
    const auto found = std::find_if(chart_.fields.begin(), chart_.fields.end(), [&](const Field& own) { return own.name == field.name; });
    if (found != chart_.fields.end()) return *found;
    chart_.fields.push_back({field.name, field.kind, field.texts, std::vector<std::int64_t>(chart_.bars.size(), -1)});
    return chart_.fields.back();
  }

  /// Keeps the categories that bars have; those that were not adopted get colours of their own.
  void drop_unused() {
    std::vector<Color> taken;
    for (const Category& category : known_.categories) taken.push_back(category.ink.light);
    std::vector<std::int32_t> number(chart_.categories.size(), -1);
    for (const ChartBar& bar : chart_.bars) number[static_cast<std::size_t>(bar.category)] = 0;
    std::vector<Category> used;
    for (std::size_t category = 0; category < number.size(); ++category) {
      if (number[category] < 0) continue;
      number[category] = static_cast<std::int32_t>(used.size());
      used.push_back(std::move(chart_.categories[category]));
      if (category >= number.size() - adopted_.size()) continue;
      used.back().ink = free_ink(used.back(), taken);
      taken.push_back(used.back().ink.light);
    }
    chart_.categories = std::move(used);
    for (ChartBar& bar : chart_.bars) bar.category = number[static_cast<std::size_t>(bar.category)];
  }

  /// The category's own colour where it is not taken, else another one, where there is one.
  static Ink free_ink(const Category& category, const std::vector<Color>& taken) {
    const auto is_free = [&](const Ink& ink) { return std::find(taken.begin(), taken.end(), ink.light) == taken.end(); };
    if (is_free(category.ink)) return category.ink;
    for (std::size_t i = 0; i < inks; ++i)
      if (const Ink ink = category.idle ? idle_ink(i) : plain_ink(i); is_free(ink)) return ink;
    return category.ink;
  }

  Chart chart_;
  const Chart& known_;
  std::set<std::string> own_;                     // fields that the chart has from the beginning
  std::map<std::string, std::size_t> example_;    // [title] a bar of known_ that has it
  std::map<std::int32_t, std::int32_t> adopted_;  // [category of known_] in chart_
};

}  // namespace

Chart with_kinds_of(const Chart& guessed, const Chart& known) { return Adoption(guessed, known).run(); }

}  // namespace dovetail::report
