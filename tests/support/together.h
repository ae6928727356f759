// Many callers at the same moment.
#pragma once

#include <exception>
#include <latch>
#include <thread>
#include <vector>

namespace drover::test {

// Calls act(0) … act(n - 1) from n threads that start together; returns when all are done. The first exception is
// thrown on.
template <class Act>
void together(int n, Act act) {
  std::latch start(n);
  std::vector<std::exception_ptr> errors(static_cast<std::size_t>(n));
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < n; ++i) {
      threads.emplace_back([&start, &errors, &act, i] {
        start.arrive_and_wait();
        try {
          act(i);
        } catch (...) {
          errors[static_cast<std::size_t>(i)] = std::current_exception();
        }
      });
    }
  }
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

}  // namespace drover::test
