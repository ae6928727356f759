struct LeaseMs {
  LeaseMs(long count) : value(count) {}  // flagged
  long value;
};
