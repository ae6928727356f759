// Who changed what, and who was refused: one JSON object a line, each with the SHA-256 of itself and of the one before,
// so that a line that was changed, taken out or put in is found.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/unique_fd.h"
#include "drover/error.h"
#include "drover/time.h"

namespace drover::server {

// Never a payload, never a token.
struct AuditRecord {
  Time at{};
  std::string token_id = {};  // empty: none that is known
  std::string role = {};
  std::optional<std::string> owner = {};
  std::string method = {};
  std::string route = {};    // the pattern; empty if there is none
  std::string subject = {};  // the task, gate or worker that the path names
  std::string from = {};     // the address that it came from
  int status = 0;
};

class AuditLog {
 public:
  // How many records may wait for the disk. One that comes when there are as many is dropped, logged and counted.
  static constexpr std::size_t kWaitingMax = 100'000;

  // Goes on where the file ends; it is made (0600) if there is none. A last line that a crash has cut is taken away.
  // kInvalidArgument if it cannot be written, is no audit log, or another process writes it.
  [[nodiscard]] static Result<std::unique_ptr<AuditLog>> open(const std::string& path);
  // Writes what waits, if it can.
  ~AuditLog();
  AuditLog(const AuditLog&) = delete;
  AuditLog& operator=(const AuditLog&) = delete;

  // Does not wait for the disk: a thread writes, and goes on trying while it is full.
  void add(AuditRecord record);

  // Records before this number, newest first, at most so many, each as one JSON object without its hashes. Looks at a
  // bounded part of the file.
  struct Page {
    std::vector<std::string> records;
    std::optional<std::int64_t> next;  // where to go on; none: that was the first
  };
  [[nodiscard]] Result<Page> page(std::optional<std::int64_t> before, int limit) const;

  [[nodiscard]] std::uint64_t written() const { return written_; }
  [[nodiscard]] std::uint64_t failures() const { return failures_; }  // to write; repeated later
  [[nodiscard]] std::uint64_t dropped() const { return dropped_; }

 private:
  struct End {
    std::int64_t seq = 0;
    std::string hash;
    std::int64_t bytes = 0;
  };

  AuditLog(UniqueFd file, std::string path, End end);
  [[nodiscard]] static Result<End> find_end(int file, const std::string& path);
  void run(const std::stop_token& stop);
  [[nodiscard]] bool write(const std::deque<AuditRecord>& records);

  const UniqueFd file_;
  const std::string path_;
  End end_;  // of what is written; of the thread
  std::mutex mutex_;
  std::condition_variable_any has_work_;
  std::deque<AuditRecord> waiting_;
  std::atomic<std::uint64_t> written_ = 0;
  std::atomic<std::uint64_t> failures_ = 0;
  std::atomic<std::uint64_t> dropped_ = 0;
  std::jthread thread_;
};

struct AuditSummary {
  std::int64_t records = 0;
  std::string last_hash =
      {};  // to be compared with one that was noted elsewhere: lines cut from the end leave no trace
};

// kStoreDamaged names the first line that is not as it was written.
[[nodiscard]] Result<AuditSummary> verify_audit_log(const std::string& path);

}  // namespace drover::server
