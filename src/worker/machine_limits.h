// The limits of the machine that a worker runs into: descriptors, processes, memory.
#pragma once

#include <sys/resource.h>

#include <string>

namespace drover {

// Whether the error says that something is used up, which others may give back.
[[nodiscard]] bool is_used_up(int error_number);
// The system's words, and of a limit which one it is and what helps.
[[nodiscard]] std::string explain_error(int error_number);

// Descriptors for the slots of one worker, kept aside in this process while it lives. Raises the soft limit if need be
// and allowed.
class DescriptorShare {
 public:
  explicit DescriptorShare(int slots_wanted);
  ~DescriptorShare();
  DescriptorShare(const DescriptorShare&) = delete;
  DescriptorShare& operator=(const DescriptorShare&) = delete;

  // How many slots there are descriptors for; at least one, at most as many as were wanted.
  [[nodiscard]] int slots() const { return slots_; }

 private:
  int slots_;
};

// The soft limit that this process was started with: programs that it starts get it back.
[[nodiscard]] rlim_t first_descriptor_limit();

// Pure, for tests.
[[nodiscard]] int slots_within(int slots_wanted, rlim_t limit, int in_use);

}  // namespace drover
