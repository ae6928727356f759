// TRY: hands an error on to the caller, or gives the value.
//
//   const Time now = TRY(store.now());     // of a Result<Time>
//   TRY(check_words("a reason", reason));  // of a Status
//
// It returns from the function around it, which must return a Result or a Status itself. Write it as a whole statement
// or as all of an initialiser or assignment: in the middle of an expression, g++ does not destroy what the rest of that
// expression has made.
#pragma once

#include <expected>
#include <type_traits>
#include <utility>

namespace drover::internal {

template <class R>
auto value_of(R&& result) -> std::remove_cvref_t<R>::value_type {
  return *std::forward<R>(result);
}

}  // namespace drover::internal

#define DROVER_TRY_NAMED(result, ...)                                                    \
  __extension__({                                                                        \
    auto&& result = (__VA_ARGS__);                                                       \
    if (!result) return std::unexpected(std::forward<decltype(result)>(result).error()); \
    ::drover::internal::value_of(std::forward<decltype(result)>(result));                \
  })
#define DROVER_TRY_JOIN(a, b) a##b
#define DROVER_TRY_NAME(number) DROVER_TRY_JOIN(try_result_, number)
#define TRY(...) DROVER_TRY_NAMED(DROVER_TRY_NAME(__COUNTER__), __VA_ARGS__)
