#include "store/redis/pool_names.h"

#include <set>

#include "base/sha256.h"

namespace drover::redis {

std::string line_of(const Serve& serve) {
  return serve.type ? serve.queue + "|" + *serve.type : serve.queue;
}

std::vector<std::string> lines_of(std::span<const Serve> serves) {
  std::set<std::string> lines;
  for (const Serve& serve : serves) lines.insert(line_of(serve));
  return {lines.begin(), lines.end()};
}

std::string pool_of(std::span<const std::string> lines) {
  if (lines.size() == 1) return lines.front();
  std::string all;
  for (const std::string& line : lines) all += line + "\n";
  return "pool:" + sha256_hex(all).substr(0, 16);
}

}  // namespace drover::redis
