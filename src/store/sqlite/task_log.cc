#include "store/sqlite/task_log.h"

#include <algorithm>
#include <set>

#include "base/check.h"
#include "core/log_remark.h"
#include "embedded/sqlite.h"
#include "store/log_piece.h"
#include "store/sqlite/named_sql.h"

namespace drover::sqlite {
namespace {

constexpr std::string_view kTotal = named_sql(embedded::task_log_sql, "total");
constexpr std::string_view kLastNumber = named_sql(embedded::task_log_sql, "last_number");
constexpr std::string_view kPutTotal = named_sql(embedded::task_log_sql, "put_total");
constexpr std::string_view kInsertPiece = named_sql(embedded::task_log_sql, "insert_piece");
constexpr std::string_view kPiece = named_sql(embedded::task_log_sql, "piece");
constexpr std::string_view kDeletePiece = named_sql(embedded::task_log_sql, "delete_piece");
constexpr std::string_view kPage = named_sql(embedded::task_log_sql, "page");
constexpr std::string_view kPageBefore = named_sql(embedded::task_log_sql, "page_before");

class LogAppender {
 public:
  LogAppender(Transaction& transaction, std::int64_t seq, int run, std::int64_t bytes_max)
      : transaction_(transaction), seq_(seq), run_(run), half_(std::max<std::int64_t>(1, bytes_max / 2)) {
    load();
  }

  void append(const LogChunk& chunk) {
    std::string_view rest = chunk.text;
    while (!rest.empty()) {
      const bool to_head = total_.tail_number == 0 && total_.head_bytes < half_;
      const std::int64_t room = to_head ? std::min(piece_bytes_max(), half_ - total_.head_bytes) : piece_bytes_max();
      const std::string_view piece = log_piece(rest, room);
      put(chunk.stream, piece, to_head);
      rest.remove_prefix(piece.size());
    }
  }

  [[nodiscard]] std::int64_t kept_bytes() const { return total_.head_bytes + total_.tail_bytes; }

  void save() {
    transaction_.db().run(kPutTotal, seq_, run_, total_.last_number, total_.tail_number, total_.head_bytes,
                          total_.tail_bytes, total_.left_out_bytes);
  }

 private:
  struct Total {
    std::int64_t last_number = 0;
    std::int64_t tail_number = 0;
    std::int64_t head_bytes = 0;
    std::int64_t tail_bytes = 0;
    std::int64_t left_out_bytes = 0;
  };

  void load() {
    Statement query = transaction_.db().prepare(kTotal);
    if (!query.bind(seq_, run_).step()) {
      total_.last_number = transaction_.db().number(kLastNumber, seq_);
      return;
    }
    total_.last_number = query.integer();
    total_.tail_number = query.integer();
    total_.head_bytes = query.integer();
    total_.tail_bytes = query.integer();
    total_.left_out_bytes = query.integer();
  }

  [[nodiscard]] std::int64_t piece_bytes_max() const { return log_piece_bytes_max(half_); }

  void put(LogStream stream, std::string_view text, bool to_head) {
    const auto size = static_cast<std::int64_t>(text.size());
    total_.last_number += 1;
    transaction_.db().run(kInsertPiece, seq_, total_.last_number, run_, transaction_.now(), static_cast<int>(stream),
                          text);
    if (to_head) {
      total_.head_bytes += size;
      return;
    }
    if (total_.tail_number == 0) total_.tail_number = total_.last_number;
    total_.tail_bytes += size;
    while (total_.tail_bytes > half_ && drop_oldest_of_tail()) {
    }
  }

  // Unless less than half of the cap would be left of the tail.
  bool drop_oldest_of_tail() {
    Statement query = transaction_.db().prepare(kPiece);
    CHECK(query.bind(seq_, total_.tail_number).step());
    const auto stream = static_cast<LogStream>(query.small());
    const std::string text = query.text();
    const auto size = static_cast<std::int64_t>(text.size());
    if (total_.tail_bytes - size < half_) return false;
    transaction_.db().run(kDeletePiece, seq_, total_.tail_number);
    total_.tail_number += 1;
    total_.tail_bytes -= size;
    total_.left_out_bytes += output_bytes(stream, text);
    return true;
  }

  Transaction& transaction_;
  const std::int64_t seq_;
  const int run_;
  const std::int64_t half_;
  Total total_;
};

}  // namespace

std::int64_t append_log(Transaction& transaction, std::int64_t seq, int run, std::span<const LogChunk> chunks,
                        std::int64_t bytes_max) {
  LogAppender appender(transaction, seq, run, bytes_max);
  const std::int64_t before = appender.kept_bytes();
  for (const LogChunk& chunk : chunks) appender.append(chunk);
  appender.save();
  return appender.kept_bytes() - before;
}

LogPage read_log(Connection& db, const TaskId& id, const LogQuery& wanted) {
  LogPage page;
  std::set<int> runs;
  Statement query = db.prepare(wanted.before ? kPageBefore : kPage);
  query.bind(id, wanted.after, wanted.limit, wanted.run, wanted.before);
  while (query.step()) {
    LogRecord record;
    record.seq = query.integer();
    record.run = query.small();
    record.at = query.time();
    record.stream = static_cast<LogStream>(query.small());
    record.text = query.text();
    const std::int64_t left_out = query.integer();
    if (query.integer() == record.seq) record.left_out_before = left_out;
    if (runs.insert(record.run).second) page.left_out_bytes += left_out;
    page.records.push_back(std::move(record));
  }
  if (wanted.before) std::ranges::reverse(page.records);
  return page;
}

}  // namespace drover::sqlite
