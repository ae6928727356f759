// CHECK: always on. A failed one is a bug in Drover: say where and stop before harm is done.
#pragma once

#include <string_view>

namespace drover {

[[noreturn]] void check_failed(const char* file, int line, const char* condition, std::string_view detail);

}  // namespace drover

#define CHECK(condition) \
  ((condition) ? static_cast<void>(0) : ::drover::check_failed(__FILE__, __LINE__, #condition, {}))
#define CHECK_MSG(condition, detail) \
  ((condition) ? static_cast<void>(0) : ::drover::check_failed(__FILE__, __LINE__, #condition, (detail)))
