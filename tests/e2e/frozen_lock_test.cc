// A process that is frozen inside the store's lock: the others answer, they do not hang.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "e2e/e2e_test.h"

namespace drover::e2e {
namespace {

constexpr Millis kAnswered{10'000};

// Takes the lock and stops, as a frozen writer would; lets go when it is destroyed.
class FrozenHolder {
 public:
  explicit FrozenHolder(const std::string& lock_file) : pid_(::fork()) {
    if (pid_ == 0) {
      const int fd = ::open(lock_file.c_str(), O_RDWR | O_CLOEXEC);
      if (fd < 0 || ::flock(fd, LOCK_EX) != 0) ::_exit(1);
      ::raise(SIGSTOP);
      ::_exit(0);
    }
    int status = 0;
    ::waitpid(pid_, &status, WUNTRACED);
    stopped_ = WIFSTOPPED(status);
  }
  ~FrozenHolder() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  FrozenHolder(const FrozenHolder&) = delete;
  FrozenHolder& operator=(const FrozenHolder&) = delete;

  [[nodiscard]] bool stopped() const { return stopped_; }

 private:
  pid_t pid_;
  bool stopped_ = false;
};

class FrozenLockTest : public E2eTest {};

TEST_F(FrozenLockTest, WritersAnswerWithinTenSeconds) {
  const std::string id = sandbox.enqueue({"work"});
  const std::string before = sandbox.dump();
  {
    const FrozenHolder holder(sandbox.store_path() + "-lock");
    ASSERT_TRUE(holder.stopped());
    const auto canceller = sandbox.start({"cancel", id});
    const Outcome enqueued = sandbox.drover({"enqueue", "work"});
    expect_refused(enqueued, 7, "store_unavailable");
    EXPECT_LT(enqueued.took, kAnswered);
    EXPECT_TRUE(contains(enqueued.err, "lock"));
    EXPECT_EQ(canceller->wait(kAnswered), (Exit{.code = 7}));
    EXPECT_EQ(sandbox.dump(), before) << "reading needs no lock";
  }
  EXPECT_EQ(sandbox.drover({"enqueue", "work"}).exit_code, 0);
}

TEST_F(FrozenLockTest, AWorkerWaitsAndGoesOn) {
  EventStream events = sandbox.events();
  const std::string id = sandbox.enqueue({"work"});
  std::unique_ptr<Process> worker;
  {
    const FrozenHolder holder(sandbox.store_path() + "-lock");
    ASSERT_TRUE(holder.stopped());
    worker = sandbox.start(work("work", agentsim()));
    EXPECT_FALSE(events.next("task.claimed", id, Millis{1'000}));
  }
  EXPECT_TRUE(events.next("task.completed", id)) << worker->errors();
}

}  // namespace
}  // namespace drover::e2e
