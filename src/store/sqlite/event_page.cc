#include "store/sqlite/event_page.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "store/sqlite/connection.h"

namespace drover::sqlite {
namespace {

constexpr char kBetween = '\t';
constexpr char kEnd = '\n';
constexpr char kSame = '=';
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
      if (value != std::string_view(&kSame, 1)) fields_[field] = value;
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

// Thousands are made in a row: a line is written where it stays, and numbers become digits only if they have changed.
class EventPage::Line {
 public:
  Line(EventPage& page, char* next) : page_(page), next_(next) {}

  void put(std::size_t field, std::string_view value) {
    std::string& last = page_.last_texts_[field];
    if (has_before() && last == value) return put_same(field);
    next_ = std::ranges::copy(value, next_).out;
    end_field(field);
    last = value;
  }
  void put(std::size_t field, std::int64_t value) {
    std::int64_t& last = page_.last_numbers_[field];
    if (has_before() && last == value) return put_same(field);
    next_ = std::to_chars(next_, next_ + kDigitsMax, value).ptr;
    end_field(field);
    last = value;
  }
  void put(std::size_t field, const TaskId& id) {
    if (has_before() && page_.last_task_ == id) return put_same(field);
    next_ = std::ranges::copy(digits_of(id), next_).out;
    end_field(field);
    page_.last_task_ = id;
  }
  [[nodiscard]] char* end() const { return next_; }

  static constexpr std::size_t kDigitsMax = 20;

 private:
  [[nodiscard]] bool has_before() const { return page_.count_ > 0; }
  void put_same(std::size_t field) {
    *next_++ = kSame;
    end_field(field);
  }
  void end_field(std::size_t field) { *next_++ = field == kData ? kEnd : kBetween; }

  EventPage& page_;
  char* next_;
};

void EventPage::add(Time at, std::string_view name, const Task& task, std::string_view data) {
  const std::size_t texts = name.size() + task.type.size() + task.queue.size() + task.owner.size() + data.size();
  const std::size_t bytes_max = texts + kIdDigits + kFields * (Line::kDigitsMax + 1);
  const std::size_t before = lines_.size();
  lines_.resize(before + bytes_max);
  Line line(*this, lines_.data() + before);
  line.put(kAt, std::int64_t{at.time_since_epoch().count()});
  line.put(kName, name);
  line.put(kTask, task.id);
  line.put(kType, task.type);
  line.put(kQueue, task.queue);
  line.put(kOwner, task.owner);
  line.put(kState, static_cast<std::int64_t>(task.state));
  line.put(kRun, std::int64_t{task.run});
  line.put(kGeneration, std::int64_t{task.generation});
  line.put(kData, data);
  lines_.resize(static_cast<std::size_t>(line.end() - lines_.data()));
  ++count_;
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
