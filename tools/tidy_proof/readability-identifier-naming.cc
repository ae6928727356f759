namespace Tasks {  // flagged

struct task_row {  // flagged
  int LeaseMs;  // flagged
};

class Worker {
 public:
  void ClaimNext();  // flagged

 private:
  int slots = 0;  // flagged
  int free_ = 0;
};

enum class State { pending, kRunning };  // flagged

constexpr int max_attempts = 3;  // flagged
constexpr int kMaxStalls = 3;

int RunOnce(int Count) {  // flagged
  constexpr int step = 1;  // flagged
  static const int usual = Count;  // flagged
  static const int kUsual = usual;
  int leaseMs = kUsual + step;  // flagged
  return leaseMs;
}

}  // namespace Tasks
