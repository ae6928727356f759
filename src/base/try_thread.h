// Threads that a process can do without for a while: under a limit of processes or memory the machine may refuse one.
#pragma once

#include <new>
#include <system_error>
#include <utility>

#include "base/log.h"

namespace drover {

// Whether the thread runs now.
template <class Thread, class Body>
[[nodiscard]] bool try_thread(Thread& thread, Body body) {
  try {
    thread = Thread(std::move(body));
    return true;
  } catch (const std::system_error& error) {
    log_debug("process", "cannot start a thread", {{"error", error.what()}});
    return false;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

}  // namespace drover
