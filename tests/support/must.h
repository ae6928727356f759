// Short ways to say "this works" and "this is refused with".
#pragma once

#include <fmt/format.h>

#include <optional>
#include <source_location>
#include <stdexcept>
#include <utility>

#include "drover/error.h"

namespace drover::test {

// The value; or the end of this test, which fails with the error and the place where it happened.
template <class T>
T must(Result<T> result, std::source_location where = std::source_location::current()) {
  if (!result) {
    throw std::runtime_error(fmt::format("{}:{}: {}", where.file_name(), where.line(), to_string(result.error())));
  }
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

// The code with which a call was refused; nothing if it was not.
template <class T>
std::optional<ErrorCode> code_of(const Result<T>& result) {
  if (result) return std::nullopt;
  return result.error().code;
}

}  // namespace drover::test
