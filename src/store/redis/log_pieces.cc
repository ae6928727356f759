#include "store/redis/log_pieces.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/try.h"
#include "store/log_piece.h"

namespace drover::redis {
void pack_log_pieces(Pack& pack, std::span<const LogChunk> chunks, std::int64_t bytes_max) {
  const std::int64_t half = std::max<std::int64_t>(1, bytes_max / 2);
  const std::int64_t bytes = log_piece_bytes_max(half);
  std::vector<std::pair<LogStream, std::string_view>> pieces;
  for (const LogChunk& chunk : chunks) {
    std::string_view rest = chunk.text;
    while (!rest.empty()) {
      const std::string_view piece = log_piece(rest, bytes);
      pieces.emplace_back(chunk.stream, piece);
      rest.remove_prefix(piece.size());
    }
  }
  pack.put(static_cast<std::int64_t>(pieces.size()));
  for (const auto& [stream, text] : pieces) pack.put(std::to_string(static_cast<int>(stream))).put(text);
}

Result<LogPage> to_log_page(const Reply& reply) {
  const auto parts = TRY(reply.as_array_of(2));
  const auto entries = TRY(parts[0].as_array());
  const auto totals = TRY(parts[1].as_array());
  std::map<std::string, std::int64_t, std::less<>> totals_of_runs;  // "left_out:RUN", "tail:RUN"
  for (std::size_t i = 0; i + 1 < totals.size(); i += 2) {
    totals_of_runs.emplace(totals[i].as_text().value_or(""), totals[i + 1].as_integer().value_or(0));
  }
  LogPage page;
  std::set<int> runs;
  for (const Reply& entry : entries) {
    const auto halves = TRY(entry.as_array_of(2));
    // run, its number, at, time, stream, number, text, the text
    const auto fields = TRY(halves[1].as_array_of(8));
    const auto id = TRY(halves[0].as_text());
    LogRecord record;
    record.seq = Reply::bulk(std::string(id.substr(0, id.find('-')))).as_integer().value_or(0);
    record.run = static_cast<int>(fields[1].as_integer().value_or(0));
    record.at = Time(Millis(fields[3].as_integer().value_or(0)));
    record.stream = static_cast<LogStream>(fields[5].as_integer().value_or(0));
    record.text = std::string(fields[7].as_text().value_or(""));
    const std::int64_t left_out = totals_of_runs["left_out:" + std::to_string(record.run)];
    if (record.seq == totals_of_runs["tail:" + std::to_string(record.run)]) record.left_out_before = left_out;
    if (runs.insert(record.run).second) page.left_out_bytes += left_out;
    page.records.push_back(std::move(record));
  }
  return page;
}

}  // namespace drover::redis
