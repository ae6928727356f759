// Which time retention believes. A wall clock may be set to anything, and what retention deletes does not come back.
//
// After a step the time goes on as if there had been none, until the clock has run steadily for an hour: it is then
// right, or somebody had an hour to notice. A time when nobody looked (the machine was off, no process ran) is a step
// like any other. What ended while the clock was set back has an earlier time than it should, and would be old at once
// when the clock is right again: it stays until it is old enough for certain.
#pragma once

#include <optional>
#include <string_view>

#include "core/store_clocks.h"
#include "drover/error.h"
#include "drover/task.h"

namespace drover {

inline constexpr Millis kSteadyFor{3'600'000};  // or for as long as anything is kept, if that is less
// Smaller ones are believed. Looks of different processes at one store differ by less.
inline constexpr Millis kStepMin{5'000};

// By how much the wall clock was set between two looks; 0 if it was not.
[[nodiscard]] Millis step_between(const StoreClocks& before, const StoreClocks& after);

// What is known after a look at the clocks. A store keeps it for those who look next.
struct BelievedTime {
  StoreClocks seen;
  std::optional<Time> now = {};          // the time that was believed then; none: no time is yet
  Millis steady_since{0};                // steady time of the last step
  std::optional<Time> set_back_to = {};  // the earliest time that the clock was set back to
  Millis doubted_since{0};               // steady time of the last step since that

  bool operator==(const BelievedTime&) const = default;
};

// The first look at a store. One that is empty has nothing to delete, whatever the time may be.
enum class FirstLook : std::uint8_t { kEmpty, kInUse };
[[nodiscard]] BelievedTime first_look(const StoreClocks& clocks, FirstLook kind);
// Every other one. Doubt lasts for as long as anything is kept.
[[nodiscard]] BelievedTime look(BelievedTime before, const StoreClocks& clocks, Millis kept_for);
// What ended then or earlier is older than `age`.
[[nodiscard]] Time end_of_age(const BelievedTime& believed, Millis age);

[[nodiscard]] JsonText to_json(const BelievedTime& believed);
[[nodiscard]] Result<BelievedTime> parse_believed_time(std::string_view json);

}  // namespace drover
