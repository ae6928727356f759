#include "unit/worker/victim.h"

#include <unistd.h>

#include <cstdlib>
#include <string>

#include "unit/worker/fake_queue.h"
#include "worker/run_worker.h"

namespace drover::test {

int victim_main(int argc, char** argv) {
  if (argc < 5) return 2;
  const Millis lease(std::atol(argv[3]));
  FakeQueue queue;
  queue.put(numbered_task(1));
  const StopSignal stop;
  const auto report = run_worker(queue,
                                 {.serves = {{"test", std::nullopt}},
                                  .runners = {.for_all = RunnerProfile{{argv + 4, argv + argc}, {}}},
                                  .state_dir = argv[2],
                                  .lease = lease,
                                  .heartbeat = lease / 6},
                                 stop);
  return report ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace drover::test
