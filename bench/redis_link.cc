#include "redis_link.h"

#include <fmt/format.h>

#include <cstdlib>
#include <stdexcept>

namespace drover::bench {
namespace {

constexpr std::string_view kCommandPrefix = "cmdstat_";

// The number behind `name` in a line like "calls=12,usec=340".
double number_after(std::string_view line, std::string_view name) {
  const std::size_t at = line.find(name);
  if (at == std::string_view::npos) throw std::runtime_error(fmt::format("INFO says no {}: {}", name, line));
  return std::strtod(line.data() + at + name.size(), nullptr);
}

void read_line(std::string_view line, RedisUsage& usage) {
  if (line.starts_with("used_cpu_user:") || line.starts_with("used_cpu_sys:")) {
    usage.cpu_us += number_after(line, ":") * 1e6;
  } else if (line.starts_with("used_memory:")) {
    usage.memory_bytes = number_after(line, ":");
  } else if (line.starts_with(kCommandPrefix)) {
    const std::string name(line.substr(kCommandPrefix.size(), line.find(':') - kCommandPrefix.size()));
    if (name == "info") return;
    usage.calls[name] = static_cast<std::int64_t>(number_after(line, "calls="));
    usage.command_us[name] = number_after(line, "usec=");
  }
}

}  // namespace

RedisLink::RedisLink(const std::string& socket_path) : context_(redisConnectUnix(socket_path.c_str())) {
  if (context_ == nullptr || context_->err != 0) throw std::runtime_error("no Redis at " + socket_path);
}

void RedisLink::send(const std::vector<std::string_view>& command) {
  std::vector<const char*> arguments;
  std::vector<std::size_t> sizes;
  for (const std::string_view argument : command) {
    arguments.push_back(argument.data());
    sizes.push_back(argument.size());
  }
  const int appended =
      redisAppendCommandArgv(context_.get(), static_cast<int>(command.size()), arguments.data(), sizes.data());
  if (appended != REDIS_OK) throw std::runtime_error(fmt::format("Redis: {}", context_->errstr));
}

RedisReply RedisLink::receive() {
  void* raw = nullptr;
  if (redisGetReply(context_.get(), &raw) != REDIS_OK) {
    throw std::runtime_error(fmt::format("Redis: {}", context_->errstr));
  }
  RedisReply reply(static_cast<redisReply*>(raw));
  if (reply->type == REDIS_REPLY_ERROR) throw std::runtime_error(fmt::format("Redis: {}", reply->str));
  return reply;
}

RedisUsage usage_of(RedisLink& link) {
  RedisUsage usage;
  const RedisReply info = link.call({"INFO", "all"});
  std::string_view text(info->str, static_cast<std::size_t>(info->len));
  while (!text.empty()) {
    const std::size_t end = std::min(text.find("\r\n"), text.size());
    read_line(text.substr(0, end), usage);
    text.remove_prefix(std::min(end + 2, text.size()));
  }
  return usage;
}

RedisUsage& operator+=(RedisUsage& sum, const RedisUsage& more) {
  sum.cpu_us += more.cpu_us;
  sum.memory_bytes += more.memory_bytes;
  for (const auto& [name, calls] : more.calls) sum.calls[name] += calls;
  for (const auto& [name, us] : more.command_us) sum.command_us[name] += us;
  return sum;
}

RedisUsage operator-(const RedisUsage& later, const RedisUsage& earlier) {
  RedisUsage used;
  used.cpu_us = later.cpu_us - earlier.cpu_us;
  used.memory_bytes = later.memory_bytes - earlier.memory_bytes;
  for (const auto& [name, calls] : later.calls) {
    const auto before = earlier.calls.find(name);
    const std::int64_t more = calls - (before == earlier.calls.end() ? 0 : before->second);
    if (more == 0) continue;
    used.calls[name] = more;
    used.command_us[name] =
        later.command_us.at(name) - (before == earlier.calls.end() ? 0 : earlier.command_us.at(name));
  }
  return used;
}

}  // namespace drover::bench
