// A full disk: new tasks are refused whole, running ones settle from the ballast, and nothing is lost.
#include <fmt/format.h>

#include <fstream>

#include "e2e/e2e_test.h"
#include "e2e/ready.h"
#include "e2e/small_disk.h"

namespace drover::e2e {
namespace {

class FullDiskTest : public E2eTest {};

TEST_F(FullDiskTest, RefusesNewTasksAndSettlesOldOnes) {
  const SmallDisk disk(sandbox.file("store"), 256);
  if (!disk.mounted()) GTEST_SKIP() << "cannot mount a small disk here: " << disk.why_not();
  EventStream events = sandbox.events();
  const std::string id = sandbox.enqueue({"work"});
  const auto worker = sandbox.start(work(
      "work", {"/bin/sh", "-c", "while [ ! -e '" + sandbox.file("go") + "' ]; do sleep 0.05; done; echo '\"done\"'"}));
  ASSERT_TRUE(events.next("task.claimed", id));
  disk.fill();

  const std::string before = sandbox.must({"list", "--json"});
  sandbox.write_file("payload.json", "\"" + std::string(500'000, 'x') + "\"");
  for (const Arguments& more :
       std::vector<Arguments>{{"enqueue", "work"}, {"enqueue", "work", "--payload", "@payload.json"}}) {
    expect_refused(sandbox.drover(more), 1, "disk_full");
  }
  EXPECT_EQ(sandbox.must_json({"list", "--json"}).as_array()->size(), 1U) << "something of a refused task was stored";

  sandbox.write_file("go", "");
  ASSERT_TRUE(events.next("task.completed", id)) << worker->errors();
  EXPECT_EQ(at(sandbox.show(id), "result"), "done");
  EXPECT_EQ(sandbox.must({"fsck", "--json"}), "[]\n");

  disk.empty();
  const Outcome again = sandbox.drover({"enqueue", "work"});
  EXPECT_EQ(again.exit_code, 0) << again.err;
}

TEST_F(FullDiskTest, ADiskThatIsTooSmallFromTheStart) {
  const SmallDisk disk(sandbox.file("store"), 4);
  if (!disk.mounted()) GTEST_SKIP() << "cannot mount a small disk here: " << disk.why_not();
  disk.fill();
  expect_refused(sandbox.drover({"enqueue", "work"}), 1, "disk_full");
  disk.empty();
  expect_refused(sandbox.drover({"enqueue", "work"}), 1, "disk_full");  // no room for tasks and ballast
}

// Where no task can be stored, a server that answers reads is of no use to those who send it clients.
TEST_F(FullDiskTest, AServerOnAFullDiskIsNotReady) {
  const SmallDisk disk(sandbox.file("store"), 256);
  if (!disk.mounted()) GTEST_SKIP() << "cannot mount a small disk here: " << disk.why_not();
  ServerProcess server(sandbox);
  EXPECT_EQ(ready_with(server, 200).status, 200);
  disk.fill();
  const HttpResponse response = ready_with(server, 503);
  EXPECT_EQ(response.status, 503);
  EXPECT_TRUE(contains(response.body, R"("code":"disk_full")")) << response.body;
  disk.empty();
  EXPECT_EQ(ready_with(server, 200).status, 200);
}

}  // namespace
}  // namespace drover::e2e
