// The files of a store are replaced or deleted under a fleet that uses them: it stops, and says so.
#include <fmt/format.h>

#include <csignal>
#include <filesystem>

#include "e2e/e2e_test.h"
#include "e2e/ready.h"

namespace drover::e2e {
namespace {

namespace fs = std::filesystem;

class ReplacedStoreTest : public E2eTest {};

// By an older copy, as a restore does that was made too soon.
TEST_F(ReplacedStoreTest, AServerRefusesEveryTaskAndIsNotReady) {
  for (const std::string part : {"", "-wal", "-shm", "-lock"}) {
    ServerProcess server(sandbox);
    const std::string token = create_token(sandbox, {"operator"});
    sandbox.set("DROVER_TOKEN", token);
    const Arguments enqueue{"--store", server.url(), "enqueue", "work"};
    EXPECT_EQ(sandbox.drover(enqueue).exit_code, 0);
    const std::string file = sandbox.store_path() + part;
    fs::copy_file(file, file + ".copy");
    fs::rename(file + ".copy", file);
    expect_refused(sandbox.drover(enqueue), 1, "store_damaged");
    const HttpResponse response = ready_with(server, 503);
    EXPECT_EQ(response.status, 503) << part;
    EXPECT_TRUE(contains(response.body, R"("code":"store_damaged")")) << response.body;
    EXPECT_TRUE(contains(server.process().errors(), "was replaced, renamed or deleted")) << server.process().errors();
    server.kill();
  }
}

TEST_F(ReplacedStoreTest, AWorkerThatWaitsForTasksEnds) {
  sandbox.must({"list"});
  const auto worker = sandbox.start(work("work", {"/bin/true"}));
  sandbox.must({"run", "work"});  // it has the store open
  fs::remove(sandbox.store_path());
  EXPECT_EQ(worker->wait(kHangs), (Exit{.code = 1})) << worker->errors();
  EXPECT_TRUE(contains(worker->errors(), "store_damaged")) << worker->errors();
}

TEST_F(ReplacedStoreTest, UpEnds) {
  const auto up = sandbox.start({"up"});
  const Millis end = mono_now() + kHangs;
  while (!contains(up->errors(), "up on") && mono_now() < end && !up->wait(Millis{20})) {
  }
  fs::remove(sandbox.store_path() + "-wal");
  EXPECT_EQ(up->wait(kHangs), (Exit{.code = 1})) << up->errors();
  EXPECT_TRUE(contains(up->errors(), "store_damaged")) << up->errors();
}

}  // namespace
}  // namespace drover::e2e
