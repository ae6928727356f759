// The test program is also the step that some tests kill.
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/log.h"
#include "hooks/test_hooks.h"
#include "workspace/step.h"

namespace {

// "NAME:N": this process is killed when it passes that failpoint for the Nth time.
void die_at(const std::string& where) {
  const std::size_t colon = where.find(':');
  drover::set_failpoint_handler(
      [name = where.substr(0, colon), left = std::stoi(where.substr(colon + 1))](std::string_view passed) mutable {
        if (passed == name && --left == 0) std::raise(SIGKILL);
      });
}

}  // namespace

int main(int argc, char** argv) {
  drover::configure_log(drover::LogLevel::kError, drover::LogFormat::kText);
  if (argc > 1 && std::string_view(argv[1]) == "workspace-step") {
    if (const char* where = std::getenv("STEP_DIES_AT")) die_at(where);
    return drover::workspace::step_main(argc, argv);
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
