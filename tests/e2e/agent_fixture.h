// A sandbox with tests/agents/fake_agent.py in the place of each agent's program.
#pragma once

#include <fmt/format.h>

#include <filesystem>
#include <string>

#include "e2e/e2e_test.h"

namespace drover::e2e {

inline constexpr std::string_view kSecret = "sk-secret-0123456789";

class AgentFixture : public E2eTest {
 protected:
  AgentFixture() {
    std::filesystem::create_directory(sandbox.file("bin"));
    for (const char* name : {"claude", "codex", "gemini", "opencode", "letta"}) {
      std::filesystem::create_symlink(DROVER_SOURCE_DIR "/tests/agents/fake_agent.py",
                                      sandbox.file(fmt::format("bin/{}", name)));
    }
    sandbox.set("PATH", fmt::format("{}:/usr/bin:/bin", sandbox.file("bin")));
    sandbox.set("HOME", sandbox.folder().string());
    sandbox.set("ANTHROPIC_API_KEY", std::string(kSecret));
  }

  // drover.yaml with one profile for the type `fix`, trusted.
  void write_profile(const std::string& fields) {
    sandbox.write_file("drover.yaml", "local:\n  runners:\n    fix: {" + fields + "}\n");
    sandbox.must({"trust", "drover.yaml"});
  }
  // The task with that prompt, after a worker has done all that it could.
  json::Value after_work(const std::string& prompt, Arguments more = {}) {
    Arguments arguments{"fix", "--prompt", prompt, "--retry", "fixed:1ms"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    id_ = sandbox.enqueue(arguments);
    const Outcome worked = sandbox.drover(
        {"work", "--type", "fix", "--lease", "2s", "--heartbeat", "300ms", "--until-empty"}, {}, Millis{60'000});
    EXPECT_EQ(worked.exit_code, worker_exit_code_) << worked.err;
    return sandbox.show(id_);
  }
  static std::string error_class(const json::Value& task) { return at(*task.find("error"), "class"); }
  [[nodiscard]] std::string transcript() const { return sandbox.must({"transcript", "--json", id_}); }

  std::string id_;
  int worker_exit_code_ = 0;
};

}  // namespace drover::e2e
