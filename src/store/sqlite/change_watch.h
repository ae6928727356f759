// Knowing that something was committed, by this process or another, and waiting for it.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>

#include "store/sqlite/side_files.h"

namespace drover::sqlite {

class ChangeWatch {
 public:
  // `data_version` answers a number that differs after a commit of another connection. side_files null: in memory,
  // where there is no other.
  ChangeWatch(SideFiles* side_files, std::function<std::int64_t()> data_version)
      : side_files_(side_files), data_version_(std::move(data_version)) {}
  ~ChangeWatch();
  ChangeWatch(const ChangeWatch&) = delete;
  ChangeWatch& operator=(const ChangeWatch&) = delete;

  // Grows with every commit that is noticed.
  [[nodiscard]] std::uint64_t changes();
  // This process committed.
  void committed();
  // Until changes() differs from `seen`, or the timeout. The first call starts the thread that watches the bell.
  void wait(std::uint64_t seen, Millis timeout);

 private:
  void look();
  void watch();

  SideFiles* const side_files_;
  const std::function<std::int64_t()> data_version_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::uint64_t changes_ = 0;
  std::int64_t version_ = 0;
  bool stopping_ = false;
  std::thread watcher_;
};

}  // namespace drover::sqlite
