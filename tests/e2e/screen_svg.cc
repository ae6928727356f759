#include "e2e/screen_svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

namespace drover::e2e {
namespace {

constexpr double kColumnWidth = 8.43;  // of the common monospaced fonts at 14 px
constexpr int kLineHeight = 19;
constexpr int kMargin = 12;

constexpr std::array<std::string_view, 8> kColors{"black", "red",     "green", "yellow",
                                                  "blue",  "magenta", "cyan",  "white"};

struct Style {
  std::string_view color;
  bool bold = false;
  bool dim = false;
  bool reverse = false;

  bool operator==(const Style&) const = default;
};

struct Span {
  Style style;
  std::string text;
};
using Line = std::vector<Span>;

void apply_code(Style& style, int code) {
  if (code == 0) style = {};
  if (code == 1) style.bold = true;
  if (code == 2) style.dim = true;
  if (code == 7) style.reverse = true;
  if (code == 22) style.bold = style.dim = false;
  if (code == 27) style.reverse = false;
  if (code >= 30 && code <= 37) style.color = kColors[static_cast<std::size_t>(code - 30)];
  if (code == 39) style.color = {};
}

// "1;36" of ESC [ 1 ; 36 m.
void apply_codes(Style& style, std::string_view codes) {
  while (true) {
    int code = 0;
    const auto end = std::from_chars(codes.data(), codes.data() + codes.size(), code).ptr;
    apply_code(style, code);
    codes.remove_prefix(static_cast<std::size_t>(end - codes.data()));
    if (!codes.starts_with(';')) return;
    codes.remove_prefix(1);
  }
}

std::vector<Line> lines_of(std::string_view painted) {
  std::vector<Line> lines(1);
  Style style;
  while (!painted.empty()) {
    if (painted.starts_with("\x1b[")) {
      const std::size_t end = std::min(painted.find('m'), painted.size() - 1);
      apply_codes(style, painted.substr(2, end - 2));
      painted.remove_prefix(end + 1);
      continue;
    }
    if (painted.starts_with('\n')) {
      lines.emplace_back();
    } else {
      Line& line = lines.back();
      if (line.empty() || line.back().style != style) line.push_back({style, ""});
      line.back().text += painted.front();
    }
    painted.remove_prefix(1);
  }
  while (!lines.empty() && lines.back().empty()) lines.pop_back();
  return lines;
}

// No wide characters here.
std::size_t columns_of(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, [](char c) { return (c & 0xC0) != 0x80; }));
}

std::string escaped(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    if (c == '&') {
      safe += "&amp;";
    } else if (c == '<') {
      safe += "&lt;";
    } else {
      safe += c;
    }
  }
  return safe;
}

std::string classes_of(const Style& style) {
  std::string names(style.reverse ? "reversed" : style.color);
  if (style.bold) names += names.empty() ? "bold" : " bold";
  if (style.dim) names += names.empty() ? "dim" : " dim";
  return names;
}

std::string svg_of_line(const Line& line, int top) {
  std::string behind;
  std::string text;
  std::size_t column = 0;
  for (const Span& span : line) {
    const std::size_t width = columns_of(span.text);
    if (span.style.reverse) {
      behind += fmt::format("<rect class=\"behind\" x=\"{:.1f}\" y=\"{}\" width=\"{:.1f}\" height=\"{}\"/>\n",
                            kMargin + static_cast<double>(column) * kColumnWidth, top,
                            static_cast<double>(width) * kColumnWidth, kLineHeight);
    }
    const std::string classes = classes_of(span.style);
    text += classes.empty() ? escaped(span.text)
                            : fmt::format("<tspan class=\"{}\">{}</tspan>", classes, escaped(span.text));
    column += width;
  }
  return fmt::format("{}<text x=\"{}\" y=\"{}\">{}</text>\n", behind, kMargin, top + 14, text);
}

}  // namespace

std::string svg_of_screen(std::string_view painted, int columns) {
  const std::vector<Line> lines = lines_of(painted);
  const int width = static_cast<int>(columns * kColumnWidth) + 2 * kMargin;
  const int height = static_cast<int>(lines.size()) * kLineHeight + 2 * kMargin;
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" "
      "xml:space=\"preserve\">\n"
      "<style>\n"
      "text {{ font: 14px 'DejaVu Sans Mono', Menlo, Consolas, monospace; fill: #d5dae3; white-space: pre; }}\n"
      ".behind {{ fill: #d5dae3; }} .reversed {{ fill: #191d24; }} .bold {{ font-weight: bold; }} .dim {{ fill: "
      "#8a93a3; }}\n"
      ".red {{ fill: #f2777a; }} .green {{ fill: #8fc98f; }} .yellow {{ fill: #f2c56b; }} .blue {{ fill: #7aa6da; }}\n"
      ".magenta {{ fill: #c397d8; }} .cyan {{ fill: #70c0ba; }} .white {{ fill: #ffffff; }}\n"
      "</style>\n"
      "<rect width=\"{0}\" height=\"{1}\" rx=\"8\" fill=\"#191d24\"/>\n",
      width, height);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    svg += svg_of_line(lines[i], kMargin + static_cast<int>(i) * kLineHeight);
  }
  return svg + "</svg>\n";
}

}  // namespace drover::e2e
