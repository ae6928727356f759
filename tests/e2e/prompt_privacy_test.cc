// A prompt is nobody's business: whatever its size, no process of a run has it in its arguments or its environment.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "base/sha256.h"
#include "e2e/e2e_test.h"

namespace drover::e2e {
namespace {

std::string bytes_of(pid_t pid, std::string_view file) {
  std::ostringstream text;
  text << std::ifstream(fmt::format("/proc/{}/{}", pid, file)).rdbuf();
  return text.str();
}

class PromptPrivacyTest : public E2eTest, public testing::WithParamInterface<const char*> {
 protected:
  PromptPrivacyTest() {
    std::filesystem::create_directory(sandbox.file("bin"));
    std::filesystem::create_symlink(DROVER_SOURCE_DIR "/tests/agents/fake_agent.py",
                                    sandbox.file(fmt::format("bin/{}", GetParam())));
    sandbox.set("PATH", fmt::format("{}:/usr/bin:/bin", sandbox.file("bin")));
    sandbox.set("FAKE_AGENT_SCRIPT", sandbox.file("script"));
    sandbox.write_file("script",
                       "do: write started yes\ndo: run until test -e go; do sleep 0.02; done\n"
                       "do: digest\n");
    sandbox.write_file(
        "drover.yaml",
        fmt::format("local: {{runners: {{fix: {{preset: {}, env: [FAKE_AGENT_SCRIPT]}}}}}}", GetParam()));
    sandbox.must({"trust"});
  }

  // Looks at the worker and at everything that the task has started, from before that until its agent is at work, and a
  // few times more.
  void sample(const std::string& task, const Process& worker, const std::string& marker) {
    std::set<pid_t> seen;
    const Millis end = mono_now() + kHangs;
    for (int left = 10; left > 0 && mono_now() < end;
         left -= std::filesystem::exists(sandbox.file("started")) ? 1 : 0) {
      std::vector<pid_t> pids = Sandbox::processes_of(task);
      seen.insert(pids.begin(), pids.end());
      pids.push_back(worker.pid());
      for (const pid_t pid : pids) {
        for (const char* file : {"cmdline", "environ"}) {
          ASSERT_FALSE(bytes_of(pid, file).contains(marker)) << file << " of " << command_line_of(pid);
        }
      }
    }
    EXPECT_GE(seen.size(), 3U) << "the shim, the agent and its shell; " << worker.errors();
  }
};

TEST_P(PromptPrivacyTest, NoProcessShowsThePrompt) {
  const std::string marker = "mark-7f3a9";
  for (const std::size_t bytes : {std::size_t{10}, std::size_t{200'000}, std::size_t{1} << 20U}) {
    SCOPED_TRACE(bytes);
    std::string prompt;
    while (prompt.size() < bytes) prompt += marker;
    prompt.resize(bytes);
    for (const char* file : {"started", "go"}) std::filesystem::remove(sandbox.file(file));
    std::string id = sandbox.must({"enqueue", "--batch", "-"},
                                  fmt::format(R"({{"type":"fix","max_attempts":1,"prompt":"{}"}})", prompt) + "\n");
    id.pop_back();
    const auto worker = sandbox.start({"work", "--type", "fix", "--until-empty"});
    sample(id, *worker, marker);
    sandbox.write_file("go", "");
    EXPECT_EQ(worker->wait(kHangs), (Exit{.code = 0})) << worker->errors();
    EXPECT_EQ(at(sandbox.show(id), "result"), sha256_hex(prompt)) << "all of it came";
  }
}

INSTANTIATE_TEST_SUITE_P(Presets, PromptPrivacyTest, testing::Values("claude", "codex", "gemini", "opencode", "letta"),
                         [](const auto& preset) { return std::string(preset.param); });

}  // namespace
}  // namespace drover::e2e
