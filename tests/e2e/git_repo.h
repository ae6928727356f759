// A git repository of one test's own, and a person's git in it.
#pragma once

#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <utility>

namespace drover::e2e {

// How an agent commits: it has no configuration of ours.
inline constexpr const char* kAgentGit = "git -c user.name=agent -c user.email=agent@example.org";

class GitRepo {
 public:
  // On branch main, with README and .gitignore in one commit.
  explicit GitRepo(std::string path) : path_(std::move(path)) {
    shell(fmt::format("git init -q -b main {}", path_));
    shell(fmt::format("cd {} && echo one > README && echo ignored > .gitignore && git add . && {} commit -q -m first",
                      path_, kAgentGit));
  }

  [[nodiscard]] const std::string& path() const { return path_; }
  // Its output without the newline at the end; throws if it fails.
  std::string git(const std::string& arguments) const { return shell(fmt::format("git -C {} {}", path_, arguments)); }

 private:
  static std::string shell(const std::string& command) {
    FILE* pipe = ::popen(
        fmt::format("export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null; {{ {}\n}} 2>&1", command).c_str(), "re");
    if (pipe == nullptr) throw std::runtime_error("popen");
    std::string out;
    std::array<char, 4096> buffer;
    while (const std::size_t count = std::fread(buffer.data(), 1, buffer.size(), pipe))
      out.append(buffer.data(), count);
    if (::pclose(pipe) != 0) throw std::runtime_error(command + ": " + out);
    if (out.ends_with('\n')) out.pop_back();
    return out;
  }

  std::string path_;
};

}  // namespace drover::e2e
