// The terminal as a screen of lines and a source of keys. Restored however the program ends.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "drover/error.h"
#include "drover/time.h"

namespace drover::cli {

enum class KeyKind : std::uint8_t { kNone, kText, kUp, kDown, kTab, kBackTab, kEnter, kEscape, kBackspace, kHangup };

struct Key {
  KeyKind kind = KeyKind::kNone;
  std::string text;  // of kText: one character

  bool operator==(const Key&) const = default;
};

// The keys in what a terminal sent; sequences that mean nothing here are left out.
[[nodiscard]] std::vector<Key> parse_keys(std::string_view bytes);

class Screen {
 public:
  // Takes the terminal: the alternate screen, keys as they are typed. One at a time.
  [[nodiscard]] static Result<Screen> take();
  ~Screen();
  Screen(Screen&& other) noexcept : taken_(other.taken_), shown_(std::move(other.shown_)) { other.taken_ = false; }
  Screen& operator=(Screen&&) = delete;

  struct Size {
    int columns = 80;
    int rows = 24;
  };
  [[nodiscard]] static Size size();

  // Draws the lines that differ from what is there.
  void show(const std::vector<std::string>& lines);
  // Everything is drawn anew the next time.
  void forget() { shown_.clear(); }

  // Waits for keys, a signal or a change of size, at most that long.
  [[nodiscard]] std::vector<Key> wait_for_keys(Millis at_most);

 private:
  Screen() : taken_(true) {}

  bool taken_;
  std::vector<std::string> shown_;
};

}  // namespace drover::cli
