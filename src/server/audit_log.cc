#include "server/audit_log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>

#include "base/json.h"
#include "base/log.h"
#include "base/sha256.h"
#include "base/try.h"
#include "net/wake.h"

namespace drover::server {
namespace {

constexpr Millis kTryAgain{1'000};
constexpr std::size_t kSubjectBytesMax = 256;
constexpr std::size_t kHashChars = 64;
constexpr std::string_view kHashKey = R"(,"hash":")";
constexpr std::string_view kLineEnd = R"("})";
constexpr std::size_t kTailChars = kHashKey.size() + kHashChars + kLineEnd.size();
// No line is longer: it has bounded parts only.
constexpr std::int64_t kLineBytesMax = 64 * 1024;

std::string first_hash() {
  return std::string(kHashChars, '0');
}

std::unexpected<Error> cannot_use(const std::string& path, std::string_view why) {
  return fail(ErrorCode::kInvalidArgument, fmt::format("cannot write the audit log {}: {}", path, why), "audit.open");
}

std::string text_or_null(std::string_view text) {
  return text.empty() ? "null" : json::quote(text);
}

// Without its end: the hash is of this.
std::string body_of(const AuditRecord& record, std::int64_t seq, std::string_view previous) {
  return fmt::format(
      R"({{"seq":{},"at":{},"token_id":{},"role":{},"owner":{},"method":{},"route":{},"subject":{},"from":{},"status":{},"prev":"{}")",
      seq, json::quote(format_time(record.at)), text_or_null(record.token_id), text_or_null(record.role),
      record.owner ? json::quote(*record.owner) : "null", json::quote(record.method), text_or_null(record.route),
      text_or_null(std::string_view(record.subject).substr(0, kSubjectBytesMax)), json::quote(record.from),
      record.status, previous);
}

struct Line {
  std::int64_t seq = 0;
  std::string previous;
  std::string hash;
};

// What a line says of its place in the chain; what is wrong with it otherwise.
std::expected<Line, std::string> read_line(std::string_view text) {
  if (text.size() <= kTailChars || !text.ends_with(kLineEnd)) return std::unexpected("it is cut off or not a record");
  const std::string_view body = text.substr(0, text.size() - kTailChars);
  const std::string_view tail = text.substr(body.size());
  if (!tail.starts_with(kHashKey)) return std::unexpected("it has no hash at its end");
  Line line{.hash = std::string(tail.substr(kHashKey.size(), kHashChars))};
  if (sha256_hex(body) != line.hash) return std::unexpected("it was changed: its hash does not match");
  const auto parsed = json::parse(text);
  const json::Value* const seq = parsed ? parsed->find("seq") : nullptr;
  const json::Value* const previous = parsed ? parsed->find("prev") : nullptr;
  if (seq == nullptr || previous == nullptr) return std::unexpected("it is not a record of an audit log");
  const auto number = seq->as_int();
  const std::string* const hash = previous->as_string();
  if (!number || hash == nullptr) return std::unexpected("it is not a record of an audit log");
  line.seq = *number;
  line.previous = *hash;
  return line;
}

}  // namespace

Result<AuditLog::End> AuditLog::find_end(int file, const std::string& path) {
  struct stat status{};
  if (::fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) return cannot_use(path, "it is not a file");
  const std::int64_t from = std::max<std::int64_t>(0, status.st_size - 2 * kLineBytesMax);
  std::string tail(static_cast<std::size_t>(status.st_size - from), '\0');
  if (::pread(file, tail.data(), tail.size(), from) != static_cast<ssize_t>(tail.size())) {
    return cannot_use(path, std::strerror(errno));
  }
  const std::size_t last_end = tail.rfind('\n');
  const std::size_t whole = last_end == std::string::npos ? 0 : last_end + 1;
  End end{.seq = 0, .hash = first_hash(), .bytes = from + static_cast<std::int64_t>(whole)};
  if (whole != tail.size()) {
    if (::ftruncate(file, end.bytes) != 0) return cannot_use(path, std::strerror(errno));
    log_warn("audit", "removed an incomplete last line",
             {{"path", path}, {"bytes", std::to_string(tail.size() - whole)}});
  }
  if (whole == 0) return end;
  const std::size_t before = tail.rfind('\n', whole - 2);
  const std::size_t begin = before == std::string::npos ? 0 : before + 1;
  const auto line = read_line(std::string_view(tail).substr(begin, whole - 1 - begin));
  if (!line) return cannot_use(path, "its last line is invalid: " + line.error());
  end.seq = line->seq;
  end.hash = line->hash;
  return end;
}

Result<std::unique_ptr<AuditLog>> AuditLog::open(const std::string& path) {
  UniqueFd file(::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (!file.is_open()) return cannot_use(path, std::strerror(errno));
  if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) return cannot_use(path, "another server is writing to it");
  auto end = TRY(find_end(file.get(), path));
  return std::unique_ptr<AuditLog>(new AuditLog(std::move(file), path, std::move(end)));
}

AuditLog::AuditLog(UniqueFd file, std::string path, End end)
    : file_(std::move(file)),
      path_(std::move(path)),
      end_(std::move(end)),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

AuditLog::~AuditLog() = default;

void AuditLog::add(AuditRecord record) {
  {
    const std::scoped_lock lock(mutex_);
    if (waiting_.size() < kWaitingMax) {
      waiting_.push_back(std::move(record));
      has_work_.notify_one();
      return;
    }
  }
  if (dropped_++ == 0) log_error("audit", "records are dropped: too many are waiting for the disk", {{"path", path_}});
}

void AuditLog::run(const std::stop_token& stop) {
  block_signals_in_this_thread();
  std::deque<AuditRecord> taken;
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      has_work_.wait(lock, stop, [&] { return !waiting_.empty(); });
      if (waiting_.empty()) return;
      taken.swap(waiting_);
    }
    while (!write(taken)) {
      if (failures_++ == 0) {
        log_error("audit", "cannot write to the audit log; trying again",
                  {{"path", path_}, {"error", std::strerror(errno)}});
      }
      std::unique_lock lock(mutex_);
      has_work_.wait_for(lock, stop, kTryAgain, [] { return false; });
      if (stop.stop_requested()) {
        log_error("audit", "records are lost: the server is stopping and cannot write them",
                  {{"path", path_}, {"records", std::to_string(taken.size() + waiting_.size())}});
        return;
      }
    }
    taken.clear();
  }
}

// All of them, or none: what a full disk has taken half of is taken back.
bool AuditLog::write(const std::deque<AuditRecord>& records) {
  End end = end_;
  std::string text;
  for (const AuditRecord& record : records) {
    const std::string body = body_of(record, ++end.seq, end.hash);
    end.hash = sha256_hex(body);
    text += fmt::format("{}{}{}{}\n", body, kHashKey, end.hash, kLineEnd);
  }
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t size = ::write(file_.get(), text.data() + done, text.size() - done);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) break;
    done += static_cast<std::size_t>(size);
  }
  if (done < text.size() || ::fdatasync(file_.get()) != 0) {
    const int error = errno;
    if (::ftruncate(file_.get(), end_.bytes) != 0) log_error("audit", "a line is cut off", {{"path", path_}});
    errno = error;
    return false;
  }
  end.bytes += static_cast<std::int64_t>(text.size());
  end_ = std::move(end);
  written_ += records.size();
  return true;
}

namespace {

constexpr std::int64_t kPageBytesMax = 1 << 20;

std::unexpected<Error> cannot_read() {
  return fail(ErrorCode::kStoreUnavailable, fmt::format("cannot read the audit log: {}", std::strerror(errno)),
              "audit.page");
}

Result<std::string> read_at(int file, std::int64_t from, std::int64_t bytes) {
  std::string text(static_cast<std::size_t>(bytes), '\0');
  if (::pread(file, text.data(), text.size(), from) != static_cast<ssize_t>(text.size())) return cannot_read();
  return text;
}

std::optional<std::int64_t> seq_of(std::string_view line) {
  constexpr std::string_view kBegin = R"({"seq":)";
  if (!line.starts_with(kBegin)) return std::nullopt;
  line.remove_prefix(kBegin.size());
  std::int64_t seq = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), seq);
  return error == std::errc() ? std::optional(seq) : std::nullopt;
}

// Where the first line begins at `at` or behind it, and its number; none: there is no whole line.
struct LineAt {
  std::int64_t at = 0;
  std::int64_t seq = 0;
};
Result<std::optional<LineAt>> line_from(int file, std::int64_t at, std::int64_t size) {
  // A line that begins exactly here has its predecessor's end before it.
  const std::int64_t from = std::max<std::int64_t>(0, at - 1);
  const auto text = TRY(read_at(file, from, std::min(2 * kLineBytesMax, size - from)));
  std::size_t begin = 0;
  if (at > 0) {
    begin = text.find('\n');
    if (begin == std::string::npos) return std::nullopt;
    ++begin;
  }
  const auto seq = seq_of(std::string_view(text).substr(begin));
  if (!seq) return std::nullopt;
  return LineAt{from + static_cast<std::int64_t>(begin), *seq};
}

// Where the line of that number begins, or the first with a larger one; the end if there is none.
Result<std::int64_t> find_line(int file, std::int64_t seq, std::int64_t size) {
  std::int64_t low = 0;
  std::int64_t high = size;
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    const auto line = TRY(line_from(file, middle, size));
    if (!line || line->seq >= seq) {
      high = middle;
    } else {
      low = line->at + 1;
    }
  }
  if (low == size) return size;
  const auto line = TRY(line_from(file, low, size));
  return line ? line->at : size;
}

// As the API shows a record: without the hashes, which mean something in the file only.
std::string shown(std::string_view line) {
  return std::string(line.substr(0, line.rfind(R"(,"prev":")"))) + "}";
}

}  // namespace

Result<AuditLog::Page> AuditLog::page(std::optional<std::int64_t> before, int limit) const {
  struct stat status{};
  if (::fstat(file_.get(), &status) != 0) return cannot_read();
  std::int64_t end = status.st_size;
  if (before) end = TRY(find_line(file_.get(), *before, end));
  const std::int64_t from = std::max<std::int64_t>(0, end - kPageBytesMax);
  const auto text = TRY(read_at(file_.get(), from, end - from));
  Page page;
  std::size_t line_end = text.rfind('\n');  // what comes behind it is being written
  while (line_end != std::string::npos && std::cmp_less(page.records.size(), limit)) {
    const std::size_t before_it = line_end == 0 ? std::string::npos : text.rfind('\n', line_end - 1);
    if (before_it == std::string::npos && from > 0) break;  // it may begin earlier
    const std::size_t begin = before_it == std::string::npos ? 0 : before_it + 1;
    const std::string_view line = std::string_view(text).substr(begin, line_end - begin);
    const auto seq = seq_of(line);
    if (!seq) break;
    page.records.push_back(shown(line));
    page.next = *seq > 1 ? seq : std::nullopt;
    line_end = before_it;
  }
  return page;
}

Result<AuditSummary> verify_audit_log(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return fail(ErrorCode::kNotFound, fmt::format("cannot read {}", path), "audit.verify");
  AuditSummary summary{.last_hash = first_hash()};
  const auto bad = [&](std::string_view why) {
    return fail(ErrorCode::kStoreDamaged, fmt::format("{}, line {}: {}", path, summary.records + 1, why),
                "audit.verify");
  };
  for (std::string text; std::getline(file, text);) {
    const auto line = read_line(text);
    if (!line) return bad(line.error());
    if (line->previous != summary.last_hash) return bad("it does not follow the line before it");
    if (line->seq != summary.records + 1) return bad("its number does not follow the one before it");
    summary.last_hash = line->hash;
    ++summary.records;
  }
  return summary;
}

}  // namespace drover::server
