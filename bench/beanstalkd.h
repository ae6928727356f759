// beanstalkd, a small queue server of its own, as a bare loop over its protocol: no result, no state to ask for.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/unique_fd.h"
#include "child.h"
#include "limit.h"

namespace drover::bench {

class Beanstalkd final : public Limit {
 public:
  // Starts a server in an empty folder that syncs its log with every write.
  explicit Beanstalkd(const std::filesystem::path& folder);

  // A batch is pipelined.
  void insert(int count, int batch) override;
  void drain(int count, int batch) override;

 private:
  void send(std::string_view text);
  // The next line, without its end; throws if it begins otherwise.
  [[nodiscard]] std::string receive_line(std::string_view expected);
  void skip(std::size_t bytes);
  void fill_buffer();

  const std::string socket_path_;
  Child server_;
  UniqueFd socket_;
  std::string buffer_;
};

}  // namespace drover::bench
