// The board: claims that idle workers of all processes on one file have left, so that whoever commits something carries
// them out in the same commit. A file that all processes map (PATH-standing), with one place for each claim.
//
// It is a hint and proves nothing: what was taken is what the database says. A place belongs to the process that holds
// the lock on its byte, which the kernel gives back when that process dies. Its state moves like this:
//
//   kEmpty ──leave──▶ kStanding ──try──▶ kTried ──took something──▶ kAnswered ──withdraw──▶ kEmpty
//                         ◀──found nothing──┘
//
// The owner moves it out of kEmpty, kStanding and kAnswered. Only who holds the store's lock tries, and so a place that
// is still kTried when its owner has that lock was left so by somebody who died. Each claim has a number of its own,
// which is moved with the state: whoever was frozen while he tried one changes nothing at the next.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/unique_fd.h"
#include "store/store.h"

namespace drover::sqlite {

// What a claim asks for. As many lease ids as the tasks that it may take.
struct ClaimOrder {
  ClaimRequest request;  // of which its worker, serves and lease count
  std::vector<LeaseId> lease_ids;
  std::optional<ReservedSlots> reserved;
};

class StandingBoard {
 public:
  static constexpr std::size_t kPlaces = 64;
  static constexpr std::size_t kTasksMax = 16;  // that one claim takes
  static constexpr std::size_t kVisitsMax = 8;  // in one commit
  static constexpr Millis kSilentMax{1'000};    // one whose process has not been heard of for so long is passed over

  // Null, and the reason in the log, if there can be none: then claims stand in their own process only.
  [[nodiscard]] static std::unique_ptr<StandingBoard> open(const std::string& path);
  ~StandingBoard();
  StandingBoard(const StandingBoard&) = delete;
  StandingBoard& operator=(const StandingBoard&) = delete;

  // A claim of this process. Any thread; must not outlive the board.
  class Place {
   public:
    struct Answer {
      std::vector<TaskId> tasks;  // that may have been taken
      MonoTime leased_at;
    };

    Place(StandingBoard& board, std::size_t number, std::uint64_t claim)
        : board_(board), number_(number), claim_(claim) {}
    ~Place();
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;

    // Nobody else will try it from now on. False: it is being tried, or was, or has been taken down before.
    [[nodiscard]] bool take_down();
    // After take_down.
    void put_up();
    // By who holds the store's lock: nobody will try it from now on, and whoever still seems to has died.
    void close();
    [[nodiscard]] bool is_answered() const;
    [[nodiscard]] Answer answer() const;

   private:
    StandingBoard& board_;
    const std::size_t number_;
    const std::uint64_t claim_;
  };
  // Null if it is too large for the board, or the board is full. Of more tasks than kTasksMax only so many.
  [[nodiscard]] std::unique_ptr<Place> leave(const ClaimOrder& order, MonoTime now);
  // This process lives and hears the bell.
  void beat(MonoTime now);

  // A claim of another process that is being tried. By who holds the store's lock, until it lets go.
  class Visit {
   public:
    Visit(StandingBoard& board, std::size_t number, std::uint64_t claim, ClaimOrder order)
        : board_(board), number_(number), claim_(claim), order_(std::move(order)) {}

    [[nodiscard]] const ClaimOrder& order() const { return order_; }
    // Before the commit.
    void note_taken(std::span<const TaskRecord> records, MonoTime leased_at);
    [[nodiscard]] bool has_taken() const { return has_taken_; }
    // Exactly one of these, at last.
    void answer();
    void put_back();

   private:
    StandingBoard& board_;
    std::size_t number_;
    std::uint64_t claim_;
    ClaimOrder order_;
    bool has_taken_ = false;
  };
  // Of those that processes which live and listen have left, and that may find something: at most kVisitsMax are asked
  // about, beginning behind those of the last time.
  [[nodiscard]] std::vector<Visit> visit_others(MonoTime now,
                                                const std::function<bool(const ClaimOrder&)>& may_find_something);

 private:
  enum class State : std::uint32_t { kEmpty, kStanding, kTried, kAnswered };
  struct Shared;
  struct SharedPlace;
  class OwnPlaces;

  StandingBoard(UniqueFd file, Shared* shared);
  [[nodiscard]] static std::optional<ClaimOrder> read_order(const SharedPlace& place);
  [[nodiscard]] std::optional<ClaimOrder> begin_visit(std::size_t number, std::uint64_t claim);
  [[nodiscard]] bool is_owned_elsewhere(std::size_t number) const;
  [[nodiscard]] std::optional<std::size_t> own_free_place();

  const UniqueFd file_;
  Shared* const shared_;
  const std::unique_ptr<OwnPlaces> own_;
};

}  // namespace drover::sqlite
