// What a bare store can do on this machine at best: the yardstick beside which Drover is measured in the same run.
#pragma once

namespace drover::bench {

class Limit {
 public:
  virtual ~Limit() = default;

  // Adds `count` waiting tasks with a 200-byte payload, so many at a time.
  virtual void insert(int count, int batch) = 0;
  // Takes waiting tasks in order and marks them done, so many at a time. Throws if there are fewer.
  virtual void drain(int count, int batch) = 0;
};

}  // namespace drover::bench
