// Keeps a mark in a file while it grows: at most once a second, by a thread of its own, and at the end.
#pragma once

#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include "core/mark_book.h"
#include "store/mark_file.h"

namespace drover {

class MarkKeeper {
 public:
  explicit MarkKeeper(std::string path) : file_(std::move(path)), kept_(file_.read().value_or(Mark())), last_(kept_) {}
  ~MarkKeeper();
  MarkKeeper(const MarkKeeper&) = delete;
  MarkKeeper& operator=(const MarkKeeper&) = delete;

  // What an earlier process kept.
  [[nodiscard]] const Mark& kept() const { return kept_; }
  // From any thread. One that is not further than the last changes nothing.
  void keep(const Mark& mark);

 private:
  void run();
  void write(const Mark& mark) const;

  const MarkFile file_;
  const Mark kept_;

  std::mutex mutex_;  // guards what follows
  Mark last_;
  Mark written_ = kept_;
  bool closing_ = false;
  std::condition_variable changed_;
  std::condition_variable closed_;  // apart, so that no change wakes one that pauses
  std::jthread writer_;             // once there is something to write
};

// One file per store in a folder.
class FileMarkBook final : public MarkBook {
 public:
  explicit FileMarkBook(std::string folder) : folder_(std::move(folder)) {}

  std::optional<Mark> read(const std::string& store) override;
  void keep(const StoreMark& mark) override;

 private:
  [[nodiscard]] MarkKeeper& keeper_of(const std::string& store);

  const std::string folder_;
  std::mutex mutex_;
  std::map<std::string, MarkKeeper> keepers_;
};

}  // namespace drover
