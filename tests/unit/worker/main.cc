// The test program is also the shim that its runs start, and the worker that some tests kill.
#include <gtest/gtest.h>

#include <string_view>

#include "base/log.h"
#include "unit/worker/victim.h"
#include "worker/shim.h"
#include "worker/undertaker.h"

int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "shim") return drover::shim_main(argc, argv);
  if (argc > 1 && std::string_view(argv[1]) == "undertaker") return drover::undertaker_main(argc, argv);
  drover::configure_log(drover::LogLevel::kError, drover::LogFormat::kText);
  if (argc > 1 && std::string_view(argv[1]) == drover::test::kVictimArgument)
    return drover::test::victim_main(argc, argv);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
