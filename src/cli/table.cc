#include "cli/table.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"
#include "cli/display_text.h"

namespace drover::cli {
namespace {

constexpr std::size_t kGap = 2;  // columns between two columns
constexpr std::size_t kElasticWidthMin = 6;
constexpr std::size_t kRestWidthMin = 8;
constexpr std::size_t kRestWidthGood = 40;

std::size_t total_width(const std::vector<std::size_t>& widths) {
  std::size_t total = 0;
  for (const std::size_t width : widths) total += width == 0 ? 0 : width + kGap;
  return total == 0 ? 0 : total - kGap;
}

void trim_end(std::string& line) {
  line.erase(line.find_last_not_of(' ') + 1);
}

}  // namespace

void Table::add(std::vector<Cell> row) {
  CHECK(row.size() == columns_.size());
  for (Cell& cell : row) cell.shown = one_line(cell.shown);
  rows_.push_back(std::move(row));
}

std::string Table::render(const Look& look) const {
  return look.terminal ? render_aligned(fitted_widths(static_cast<std::size_t>(look.width)), look) : render_tsv();
}

std::string Table::render_wide(const Look& look) const {
  return render_aligned(wanted_widths(), look);
}

std::vector<std::size_t> Table::wanted_widths() const {
  std::vector<std::size_t> widths(columns_.size());
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    widths[i] = display_width(columns_[i].title);
    for (const auto& row : rows_) widths[i] = std::max(widths[i], display_width(row[i].shown));
  }
  return widths;
}

// The widest elastic column gives first; whether that was enough.
bool Table::give_way(std::vector<std::size_t>& widths, std::size_t total) const {
  for (std::size_t excess = total_width(widths); excess > total; --excess) {
    std::size_t* widest = nullptr;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (columns_[i].fit != Fit::kElastic || widths[i] <= kElasticWidthMin) continue;
      if (widest == nullptr || widths[i] > *widest) widest = &widths[i];
    }
    if (widest == nullptr) return false;
    --*widest;
  }
  return true;
}

// Leaves out as many of the spare columns as it takes, the last one first.
void Table::drop_spare(std::vector<std::size_t>& widths, std::size_t total) const {
  std::vector<std::size_t> needed = widths;
  if (!columns_.empty() && columns_.back().fit == Fit::kRest) needed.back() = std::min(needed.back(), kRestWidthGood);
  for (std::size_t i = columns_.size(); i-- > 0 && total_width(needed) > total;) {
    if (columns_[i].fit == Fit::kSpare) widths[i] = needed[i] = 0;
  }
}

// What each column gets; 0 leaves it out.
std::vector<std::size_t> Table::fitted_widths(std::size_t total) const {
  std::vector<std::size_t> widths = wanted_widths();
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (columns_[i].fit == Fit::kHidden) widths[i] = 0;
  }
  drop_spare(widths, total);
  if (!columns_.empty() && columns_.back().fit == Fit::kRest) {
    const std::size_t wanted = std::exchange(widths.back(), 0);
    const std::size_t others = total_width(widths) + kGap;
    const std::size_t left = total > others ? total - others : 0;
    const bool says_something = std::ranges::any_of(rows_, [](const auto& row) { return !row.back().shown.empty(); });
    std::vector<std::size_t> all = widths;
    all.back() = std::min(wanted, std::max(left, kRestWidthMin));
    if (left >= kRestWidthMin || (says_something && give_way(all, total))) return all;
  }
  // Where the narrowest is too wide, elastic columns go, the last one first; unless nothing helps.
  std::vector<std::size_t> narrow = widths;
  if (give_way(narrow, total)) return narrow;
  for (std::size_t i = columns_.size(); i-- > 0;) {
    if (columns_[i].fit != Fit::kElastic) continue;
    widths[i] = 0;
    std::vector<std::size_t> fewer = widths;
    if (give_way(fewer, total)) return fewer;
  }
  return narrow;
}

std::string Table::render_aligned(const std::vector<std::size_t>& widths, const Look& look) const {
  std::string text;
  const auto add_line = [&](const auto& shown_of, const auto& paint_of) {
    std::string line;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (widths[i] == 0) continue;
      if (!line.empty()) line.append(kGap, ' ');
      const std::string cut = cut_to_width(shown_of(i), widths[i]);
      line += painted(cut, paint_of(i), look);
      line.append(widths[i] - display_width(cut), ' ');
    }
    trim_end(line);
    text.append(line).append(1, '\n');
  };
  add_line([&](std::size_t i) { return columns_[i].title; }, [](std::size_t) { return Paint::kBold; });
  for (const auto& row : rows_) {
    add_line([&](std::size_t i) { return std::string_view(row[i].shown); },
             [&](std::size_t i) { return row[i].paint; });
  }
  return text;
}

std::string Table::render_tsv() const {
  std::string text;
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (i > 0) text += '\t';
      text += tsv_field(row[i].plain);
    }
    text += '\n';
  }
  return text;
}

}  // namespace drover::cli
