// Identities. Distinct types, so that a lease is never taken for a task.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace drover {

// A UUID in 16 bytes. Task ids are UUIDv7: they sort by the time at which they were made.
class TaskId {
 public:
  using Bytes = std::array<std::uint8_t, 16>;

  TaskId() = default;
  explicit TaskId(const Bytes& bytes) : bytes_(bytes) {}
  // Accepts the canonical 36-character form, in either case, of any UUID but the nil one.
  [[nodiscard]] static std::optional<TaskId> parse(std::string_view text);

  [[nodiscard]] const Bytes& bytes() const { return bytes_; }
  [[nodiscard]] bool is_nil() const { return bytes_ == Bytes{}; }
  [[nodiscard]] std::string to_string() const;
  auto operator<=>(const TaskId&) const = default;

 private:
  Bytes bytes_{};
};

// 128 random bits, compared for equality only. All zero means "no lease".
class LeaseId {
 public:
  using Bytes = std::array<std::uint8_t, 16>;

  LeaseId() = default;
  explicit LeaseId(const Bytes& bytes) : bytes_(bytes) {}
  [[nodiscard]] static std::optional<LeaseId> parse(std::string_view hex);  // 32 hex digits

  [[nodiscard]] const Bytes& bytes() const { return bytes_; }
  [[nodiscard]] bool is_none() const { return bytes_ == Bytes{}; }
  [[nodiscard]] std::string to_string() const;
  bool operator==(const LeaseId&) const = default;

 private:
  Bytes bytes_{};
};

// What a worker holds while it runs one task; the proof of its right to speak for it.
struct Lease {
  TaskId task;
  LeaseId id;

  bool operator==(const Lease&) const = default;
};

}  // namespace drover

template <>
struct std::hash<drover::TaskId> {
  std::size_t operator()(const drover::TaskId& id) const noexcept;
};
