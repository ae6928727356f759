#include "cli/top/screen.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

namespace drover::cli {
namespace {

constexpr std::string_view kEnter = "\x1b[?1049h\x1b[?25l\x1b[2J";  // alternate screen, no cursor, empty
constexpr std::string_view kLeave = "\x1b[0m\x1b[?25h\x1b[?1049l";
constexpr std::array kDeadly{SIGHUP, SIGQUIT, SIGABRT, SIGSEGV, SIGBUS};

termios before{};  // of the terminal; read by the signal handler

void write_all(std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(STDOUT_FILENO, text.data(), text.size());
    if (n < 0 && errno != EINTR) return;
    if (n > 0) text.remove_prefix(static_cast<std::size_t>(n));
  }
}

// Only what a signal handler may do.
void restore() {
  write_all(kLeave);
  ::tcsetattr(STDIN_FILENO, TCSAFLUSH, &before);
}

void restore_and_die(int signal) {
  restore();
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

void ignore_resize(int /*signal*/) {}  // it only has to interrupt the wait

void handle(int signal, void (*handler)(int)) {
  struct sigaction action{};
  action.sa_handler = handler;
  ::sigaction(signal, &action, nullptr);
}

bool make_raw() {
  if (::tcgetattr(STDIN_FILENO, &before) != 0) return false;
  termios raw = before;
  raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  raw.c_cc[VMIN] = 0;
  raw.c_cc[VTIME] = 0;
  raw.c_cc[VSUSP] = _POSIX_VDISABLE;  // a stopped program would leave its screen behind
  return ::tcsetattr(STDIN_FILENO, TCSAFLUSH, &raw) == 0;
}

struct Sequence {
  std::string_view bytes;
  KeyKind kind;
};
constexpr std::array<Sequence, 5> kSequences{{
    {"\x1b[A", KeyKind::kUp},
    {"\x1b[B", KeyKind::kDown},
    {"\x1bOA", KeyKind::kUp},
    {"\x1bOB", KeyKind::kDown},
    {"\x1b[Z", KeyKind::kBackTab},
}};

// The length of the escape sequence at the front; 1 for the key itself.
std::size_t length_of_escape(std::string_view bytes) {
  if (bytes.size() < 2 || (bytes[1] != '[' && bytes[1] != 'O')) return 1;
  std::size_t end = 2;
  while (end < bytes.size() && (bytes[end] < '@' || bytes[end] > '~')) ++end;
  return std::min(end + 1, bytes.size());
}

Key key_of_escape(std::string_view sequence) {
  if (sequence.size() == 1) return {.kind = KeyKind::kEscape, .text = {}};
  for (const Sequence& known : kSequences) {
    if (known.bytes == sequence) return {.kind = known.kind, .text = {}};
  }
  return {};
}

std::size_t length_of_character(unsigned char first) {
  if (first < 0x80) return 1;
  if (first >= 0xf0) return 4;
  return first >= 0xe0 ? 3 : 2;
}

Key key_of_character(std::string_view character) {
  switch (character.front()) {
    case '\t':
      return {.kind = KeyKind::kTab, .text = {}};
    case '\r':
    case '\n':
      return {.kind = KeyKind::kEnter, .text = {}};
    case '\x7f':
    case '\b':
      return {.kind = KeyKind::kBackspace, .text = {}};
    default:
      break;
  }
  if (static_cast<unsigned char>(character.front()) < ' ') return {};
  return {.kind = KeyKind::kText, .text = std::string(character)};
}

}  // namespace

std::vector<Key> parse_keys(std::string_view bytes) {
  std::vector<Key> keys;
  while (!bytes.empty()) {
    const bool escape = bytes.front() == '\x1b';
    const std::size_t length =
        escape ? length_of_escape(bytes)
               : std::min(bytes.size(), length_of_character(static_cast<unsigned char>(bytes.front())));
    Key key = escape ? key_of_escape(bytes.substr(0, length)) : key_of_character(bytes.substr(0, length));
    if (key.kind != KeyKind::kNone) keys.push_back(std::move(key));
    bytes.remove_prefix(length);
  }
  return keys;
}

Result<Screen> Screen::take() {
  if (::isatty(STDIN_FILENO) == 0 || ::isatty(STDOUT_FILENO) == 0 || !make_raw()) {
    return fail(ErrorCode::kInvalidArgument, "top needs a terminal; --once prints one picture");
  }
  for (const int signal : kDeadly) handle(signal, restore_and_die);
  handle(SIGWINCH, ignore_resize);
  write_all(kEnter);
  return Screen();
}

Screen::~Screen() {
  if (!taken_) return;
  restore();
  for (const int signal : kDeadly) handle(signal, SIG_DFL);
  handle(SIGWINCH, SIG_DFL);
}

Screen::Size Screen::size() {
  winsize window{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) != 0 || window.ws_col == 0 || window.ws_row == 0) return {};
  return {.columns = window.ws_col, .rows = window.ws_row};
}

void Screen::show(const std::vector<std::string>& lines) {
  std::string text;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (i < shown_.size() && shown_[i] == lines[i]) continue;
    text += fmt::format("\x1b[{};1H{}\x1b[0m\x1b[K", i + 1, lines[i]);
  }
  if (shown_.size() > lines.size()) text += fmt::format("\x1b[{};1H\x1b[J", lines.size() + 1);
  write_all(text);
  shown_ = lines;
}

std::vector<Key> Screen::wait_for_keys(Millis at_most) {
  pollfd input{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
  if (::poll(&input, 1, static_cast<int>(at_most.count())) <= 0) return {};
  std::array<char, 256> bytes{};
  const ssize_t n = ::read(STDIN_FILENO, bytes.data(), bytes.size());
  if (n <= 0 && (input.revents & (POLLHUP | POLLERR)) != 0) return {{.kind = KeyKind::kHangup, .text = {}}};
  if (n <= 0) return {};
  return parse_keys(std::string_view(bytes.data(), static_cast<std::size_t>(n)));
}

}  // namespace drover::cli
