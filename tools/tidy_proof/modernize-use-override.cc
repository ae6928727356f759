struct Clock {
  virtual ~Clock() = default;
  virtual long now_ms() const = 0;
};

struct FixedClock : Clock {
  virtual long now_ms() const { return 0; }  // flagged
};
