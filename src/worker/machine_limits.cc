#include "worker/machine_limits.h"

#include <dirent.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <memory>

#include "base/log.h"

namespace drover {
namespace {

// The shim's pidfd and five pipes, the door and one client, the file of its output.
constexpr int kDescriptorsPerSlot = 9;
// While a shim is started; for the store's connections, and for looking into /proc.
constexpr int kDescriptorsSpare = 16;

std::atomic<int> kept_aside = 0;  // for the slots of other workers of this process

rlimit limit_of(decltype(RLIMIT_NOFILE) resource) {
  rlimit limit{};
  ::getrlimit(resource, &limit);
  return limit;
}

std::string text_of(rlim_t limit) {
  return limit == RLIM_INFINITY ? "none" : std::to_string(limit);
}

int open_descriptors() {
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir("/proc/self/fd"), &::closedir);
  int count = 0;
  while (folder != nullptr && ::readdir(folder.get()) != nullptr) ++count;
  return count;
}

// What the limit is now; raised to what is wanted, as far as that is allowed.
rlim_t raise_descriptor_limit(rlim_t wanted) {
  static_cast<void>(first_descriptor_limit());  // before it changes
  rlimit limit = limit_of(RLIMIT_NOFILE);
  if (limit.rlim_cur >= wanted) return limit.rlim_cur;
  const rlim_t before = limit.rlim_cur;
  limit.rlim_cur = std::min(wanted, limit.rlim_max);
  return ::setrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : before;
}

}  // namespace

bool is_used_up(int error_number) {
  return error_number == EMFILE || error_number == ENFILE || error_number == EAGAIN || error_number == ENOMEM ||
         error_number == ENOSPC || error_number == EDQUOT;
}

std::string explain_error(int error_number) {
  const char* text = std::strerror(error_number);  // NOLINT(concurrency-mt-unsafe): glibc's is safe
  if (error_number == EMFILE) {
    return fmt::format("{} (limit {}); raise `ulimit -n`, or lower --concurrency", text,
                       text_of(limit_of(RLIMIT_NOFILE).rlim_cur));
  }
  if (error_number == EAGAIN) {
    return fmt::format("{} (limit of processes {}); raise `ulimit -u`, or lower --concurrency", text,
                       text_of(limit_of(RLIMIT_NPROC).rlim_cur));
  }
  return text;
}

int slots_within(int slots_wanted, rlim_t limit, int in_use) {
  const rlim_t taken = static_cast<rlim_t>(in_use) + kDescriptorsSpare;
  if (limit <= taken) return 1;
  return static_cast<int>(
      std::clamp<rlim_t>((limit - taken) / kDescriptorsPerSlot, 1, static_cast<rlim_t>(slots_wanted)));
}

DescriptorShare::DescriptorShare(int slots_wanted) : slots_(slots_wanted) {
  const int in_use = open_descriptors() + kept_aside.load();
  const int needed = in_use + kDescriptorsSpare + slots_wanted * kDescriptorsPerSlot;
  const rlim_t limit = raise_descriptor_limit(static_cast<rlim_t>(needed));
  slots_ = slots_within(slots_wanted, limit, in_use);
  kept_aside += slots_ * kDescriptorsPerSlot;
  if (slots_ == slots_wanted) return;
  log_warn("worker", "too few descriptors for all slots: raise `ulimit -n`, or lower --concurrency",
           {{"limit", text_of(limit)},
            {"needed", std::to_string(needed)},
            {"concurrency", std::to_string(slots_wanted)},
            {"used", std::to_string(slots_)}});
}

DescriptorShare::~DescriptorShare() {
  kept_aside -= slots_ * kDescriptorsPerSlot;
}

rlim_t first_descriptor_limit() {
  static const rlim_t kLimit = limit_of(RLIMIT_NOFILE).rlim_cur;
  return kLimit;
}

}  // namespace drover
