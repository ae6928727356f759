#include "store/sqlite/event_page.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "store/sqlite/connection.h"

namespace drover::sqlite {
namespace {

constexpr char kBetween = '\t';
constexpr char kEnd = '\n';
constexpr std::string_view kSame = "=";
constexpr std::string_view kHexDigits = "0123456789abcdef";
constexpr std::size_t kIdDigits = 32;

enum Field : std::size_t { kAt, kName, kTask, kType, kQueue, kOwner, kState, kRun, kGeneration, kData };

[[noreturn]] void throw_unreadable(std::string_view line) {
  throw SqliteFailure(SQLITE_CORRUPT, "unreadable event: " + std::string(line.substr(0, 100)));
}

// Not as UUIDs are written: an event of a gate has the id of no task, which is none.
std::array<char, kIdDigits> digits_of(const TaskId& id) {
  std::array<char, kIdDigits> digits{};
  char* next = digits.data();
  for (const std::uint8_t byte : id.bytes()) {
    *next++ = kHexDigits[byte >> 4];
    *next++ = kHexDigits[byte & 15];
  }
  return digits;
}

std::optional<TaskId> id_of(std::string_view digits) {
  if (digits.size() != kIdDigits) return std::nullopt;
  TaskId::Bytes bytes{};
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const std::size_t high = kHexDigits.find(digits[2 * i]);
    const std::size_t low = kHexDigits.find(digits[2 * i + 1]);
    if (high == std::string_view::npos || low == std::string_view::npos) return std::nullopt;
    bytes[i] = static_cast<std::uint8_t>(high << 4 | low);
  }
  return TaskId(bytes);
}

// The fields of the lines, one line after the other.
class LineReader {
 public:
  explicit LineReader(std::string_view lines) : rest_(lines) {}

  [[nodiscard]] bool next() {
    if (rest_.empty()) return false;
    const std::size_t end = rest_.find(kEnd);
    if (end == std::string_view::npos) throw_unreadable(rest_);
    line_ = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    split();
    return true;
  }

  [[nodiscard]] std::string text(Field field) const { return std::string(fields_[field]); }
  [[nodiscard]] std::int64_t number(Field field) const {
    const std::string_view text = fields_[field];
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) throw_unreadable(line_);
    return value;
  }
  [[nodiscard]] TaskId task() const {
    const std::optional<TaskId> id = id_of(fields_[kTask]);
    if (!id) throw_unreadable(line_);
    return *id;
  }
  [[nodiscard]] TaskState state() const {
    const std::int64_t state = number(kState);
    if (state < 0 || state >= kTaskStateCount) throw_unreadable(line_);
    return static_cast<TaskState>(state);
  }

 private:
  void split() {
    std::string_view left = line_;
    for (std::size_t field = kAt; field <= kData; ++field) {
      const std::size_t end = std::min(left.find(kBetween), left.size());
      // Every field but the last has one behind it.
      if ((end == left.size()) != (field == kData)) throw_unreadable(line_);
      const std::string_view value = left.substr(0, end);
      if (value != kSame) fields_[field] = value;
      left.remove_prefix(std::min(end + 1, left.size()));
    }
  }

  std::string_view rest_;
  std::string_view line_;
  std::array<std::string_view, kData + 1> fields_;
};

}  // namespace

void EventPage::add(const Event& event) {
  Task task;
  task.id = event.task;
  task.type = event.type;
  task.queue = event.queue;
  task.owner = event.owner;
  task.state = event.state;
  task.run = event.run;
  task.generation = event.generation;
  add(event.at, event.name, task, event.data);
}

void EventPage::add(Time at, std::string_view name, const Task& task, std::string_view data) {
  const auto id = digits_of(task.id);
  put(kAt, at.time_since_epoch().count());
  put(kName, name);
  put(kTask, std::string_view(id.data(), id.size()));
  put(kType, task.type);
  put(kQueue, task.queue);
  put(kOwner, task.owner);
  put(kState, static_cast<std::int64_t>(task.state));
  put(kRun, task.run);
  put(kGeneration, task.generation);
  put(kData, data);
  ++count_;
}

void EventPage::put(std::size_t field, std::string_view value) {
  const bool same = count_ > 0 && last_[field] == value;
  lines_ += same ? kSame : value;
  lines_ += field == kData ? kEnd : kBetween;
  if (!same) last_[field] = value;
}

void EventPage::put(std::size_t field, std::int64_t value) {
  std::array<char, 24> digits{};
  const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), value);
  put(field, std::string_view(digits.data(), end));
}

void EventPage::clear() {
  lines_.clear();
  count_ = 0;
}

std::vector<Event> unpack_events(std::string_view lines, std::int64_t first_seq) {
  std::vector<Event> events;
  LineReader line(lines);
  while (line.next()) {
    Event event;
    event.seq = first_seq + static_cast<std::int64_t>(events.size());
    event.at = Time(Millis(line.number(kAt)));
    event.name = line.text(kName);
    event.task = line.task();
    event.type = line.text(kType);
    event.queue = line.text(kQueue);
    event.owner = line.text(kOwner);
    event.state = line.state();
    event.run = static_cast<int>(line.number(kRun));
    event.generation = static_cast<int>(line.number(kGeneration));
    event.data = line.text(kData);
    events.push_back(std::move(event));
  }
  return events;
}

}  // namespace drover::sqlite
