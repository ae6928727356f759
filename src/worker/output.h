// What a run prints: all of it into a file on this host, and a bounded part of it on its way to the store.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "base/unique_fd.h"
#include "drover/task_queue.h"

namespace drover {

// A 0600 file, made with the first byte, that stops growing at its limit or when the disk refuses.
class OutputFile {
 public:
  OutputFile() = default;
  OutputFile(std::string path, std::int64_t bytes_max) : path_(std::move(path)), bytes_max_(bytes_max) {}

  void write(std::string_view bytes);
  [[nodiscard]] bool is_empty() const { return bytes_ == 0; }
  [[nodiscard]] const std::string& path() const { return path_; }
  // Why the file does not hold everything; empty while it does. Told once.
  [[nodiscard]] std::string take_complaint();

 private:
  void give_up(std::string why);

  std::string path_;
  std::int64_t bytes_max_ = 0;
  std::int64_t bytes_ = 0;
  UniqueFd fd_;
  bool given_up_ = false;
  std::string complaint_;
};

// Output between two flushes, given out as UTF-8. Bounded: of what is too much, the first and the last part stay, each
// as much as any store keeps of a whole run, and the gap is told.
class LogBuffer {
 public:
  void add(LogStream stream, std::string_view bytes);
  // Something that Drover itself has to say.
  void add_remark(std::string text);
  // What was taken but could not be stored comes before all that was added since.
  void put_back(std::vector<LogChunk> chunks);
  // No more comes: what waits for the rest of a character is given out as it is.
  void finish();

  [[nodiscard]] bool is_empty() const { return head_.empty() && tail_.empty() && left_out_bytes_ == 0; }
  [[nodiscard]] std::vector<LogChunk> take();

 private:
  void append(LogStream stream, std::string text);
  // All of it in order, with a remark where something is left out.
  [[nodiscard]] std::vector<LogChunk> take_raw();

  std::array<std::string, 4> cut_off_;  // per stream, the beginning of a character whose rest has not come
  std::vector<LogChunk> head_;
  std::deque<LogChunk> tail_;
  std::size_t head_bytes_ = 0;
  std::size_t tail_bytes_ = 0;
  std::int64_t left_out_bytes_ = 0;
};

}  // namespace drover
