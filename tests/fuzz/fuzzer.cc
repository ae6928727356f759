// The program that libFuzzer drives. DROVER_FUZZ_TARGET names what is fed.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "fuzz/targets.h"

namespace {

const drover::fuzz::Target* chosen = nullptr;

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* /*argc*/, char*** /*argv*/) {
  const char* name = std::getenv("DROVER_FUZZ_TARGET");
  const auto targets = drover::fuzz::targets();
  const auto found =
      std::ranges::find(targets, std::string_view(name != nullptr ? name : ""), &drover::fuzz::Target::name);
  if (found == targets.end()) {
    std::fputs("DROVER_FUZZ_TARGET must be one of:", stderr);
    for (const auto& target : targets) std::fprintf(stderr, " %s", std::string(target.name).c_str());
    std::fputs("\n", stderr);
    std::exit(2);
  }
  chosen = &*found;
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  chosen->feed({reinterpret_cast<const char*>(data), size});
  return 0;
}
