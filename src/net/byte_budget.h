// One count of all bytes that peers make this process hold: requests that are being read or answered, answers and
// frames that wait to be sent, buffers of TLS. Each connection has a cap of its own for each of these; this is the cap
// in all.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <list>

namespace drover {

class ByteBudget {
 public:
  explicit ByteBudget(std::size_t bytes_max) : bytes_max_(bytes_max) {}
  ByteBudget(const ByteBudget&) = delete;
  ByteBudget& operator=(const ByteBudget&) = delete;

  // From any thread.
  [[nodiscard]] std::size_t held() const { return held_.load(std::memory_order_relaxed); }
  // Time to be careful: what can wait should, and what is large should be refused.
  [[nodiscard]] bool is_tight() const { return held() > bytes_max_ / 4 * 3; }
  [[nodiscard]] bool is_over() const { return held() > bytes_max_; }

  // Bytes that somebody holds for a while, on any thread.
  class Charge {
   public:
    explicit Charge(ByteBudget& budget, std::size_t bytes = 0) : budget_(budget) { set(bytes); }
    ~Charge() { set(0); }
    Charge(const Charge&) = delete;
    Charge& operator=(const Charge&) = delete;

    void set(std::size_t bytes);
    [[nodiscard]] std::size_t bytes() const { return bytes_; }

   private:
    ByteBudget& budget_;
    std::size_t bytes_ = 0;
  };

  // A holder that can be told to let go. All holders of a budget live on one thread.
  class Holder {
   public:
    // `let_go` brings bytes() to next to nothing; it may not end the holder.
    Holder(ByteBudget& budget, std::function<void()> let_go);
    ~Holder() { budget_.holders_.erase(place_); }
    Holder(const Holder&) = delete;
    Holder& operator=(const Holder&) = delete;

    void set(std::size_t bytes) { charge_.set(bytes); }
    [[nodiscard]] std::size_t bytes() const { return charge_.bytes(); }
    // A stranger's bytes weigh more when somebody has to let go.
    void set_known() { is_known_ = true; }

   private:
    friend class ByteBudget;
    ByteBudget& budget_;
    Charge charge_;
    const std::function<void()> let_go_;
    bool is_known_ = false;
    std::list<Holder*>::iterator place_;
  };

  // While too much is held, those who hold most let go. On the holders' thread, outside of them.
  void relieve();
  // The one who holds most lets go, for somebody who waits. False: nobody holds enough to matter.
  bool make_room();

 private:
  const std::size_t bytes_max_;
  std::atomic<std::size_t> held_ = 0;
  std::list<Holder*> holders_;
};

}  // namespace drover
