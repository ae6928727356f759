// Text on a terminal: how many columns it takes, how it is cut, and what of it is safe to show.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace drover::cli {

// Columns that UTF-8 text takes: 2 for wide characters (East Asian, most emoji), 0 for combining ones.
[[nodiscard]] std::size_t display_width(std::string_view text);

// Cut to `width` columns, with … at the end where something was cut.
[[nodiscard]] std::string cut_to_width(std::string_view text, std::size_t width);
// Cut, then filled with spaces to exactly `width` columns.
[[nodiscard]] std::string fit_left(std::string_view text, std::size_t width);
[[nodiscard]] std::string fit_right(std::string_view text, std::size_t width);
// Broken between words to lines of at most `width` columns that start at `column`; the first is there already.
[[nodiscard]] std::string wrapped(std::string_view text, std::size_t column, std::size_t width);

// One harmless line: every run of white space is one space, escape sequences are gone, other control characters and
// bytes that are not UTF-8 are U+FFFD. What tasks and agents write could otherwise command the reader's terminal.
[[nodiscard]] std::string one_line(std::string_view text);
// The same for output of many lines: line ends and tabs stay.
[[nodiscard]] std::string harmless(std::string_view text);

// One field of a tab-separated line: tab, line ends and backslash as \t, \n, \r, \\.
[[nodiscard]] std::string tsv_field(std::string_view text);

}  // namespace drover::cli
