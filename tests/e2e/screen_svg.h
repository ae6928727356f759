// A terminal's screen as a picture for the docs.
#pragma once

#include <string>
#include <string_view>

namespace drover::e2e {

// `painted`: text with the escape sequences of its colours, as `tmux capture-pane -e` prints it. Empty lines at the end
// are left out.
[[nodiscard]] std::string svg_of_screen(std::string_view painted, int columns);

}  // namespace drover::e2e
