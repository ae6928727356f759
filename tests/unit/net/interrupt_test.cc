#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <memory>

#include "base/unique_fd.h"
#include "net/socket.h"

namespace drover::test {
namespace {

TEST(Interrupt, EndsAWaitAndStaysRaisedUntilCleared) {
  const Interrupt interrupt;
  EXPECT_FALSE(interrupt.is_raised());
  interrupt.raise();
  interrupt.wait(Millis{60'000});
  EXPECT_TRUE(interrupt.is_raised());
  interrupt.clear();
  EXPECT_FALSE(interrupt.is_raised());
}

TEST(Interrupt, WithoutADescriptorItEndsWithItsTime) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const UniqueFd highest(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const rlimit none_left{static_cast<rlim_t>(highest.get()), before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none_left), 0);
  const auto interrupt = std::make_unique<Interrupt>();
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  interrupt->raise();
  EXPECT_FALSE(interrupt->is_raised());
  interrupt->wait(Millis{1});
  interrupt->clear();
}

}  // namespace
}  // namespace drover::test
