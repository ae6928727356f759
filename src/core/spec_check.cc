#include "core/spec_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <type_traits>
#include <utility>

#include "base/text.h"
#include "base/try.h"
#include "core/base_ref.h"
#include "core/session_record.h"
#include "core/task_fields.h"

namespace drover {
namespace {

// Collects the first error over many fields.
class Checker {
 public:
  template <class T, class Check>
  void optional(std::string_view field, const std::optional<T>& value, Check check) {
    if (value) take(field, check(*value));
  }
  void take(std::string_view field, Status status) {
    if (!status && first_) first_ = at_field(field, std::move(status.error()));
  }
  [[nodiscard]] Status verdict() && { return std::move(first_); }

 private:
  Status first_;
};

std::unexpected<Error> invalid(std::string message) {
  return fail(ErrorCode::kInvalidArgument, std::move(message));
}

Status check_text(std::string_view text) {
  if (is_utf8(text)) return {};
  return invalid("expected UTF-8 text");
}

Status check_label(std::string_view text) {
  if (text.size() <= kLabelBytesMax && is_utf8(text)) return {};
  return invalid(fmt::format("expected UTF-8 text of at most {} bytes", kLabelBytesMax));
}

bool is_control(char c) {
  constexpr char kDelete = 0x7f;
  return static_cast<unsigned char>(c) < ' ' || c == kDelete;
}

// It becomes a word on command lines.
Status check_repo(std::string_view name) {
  if (name.starts_with('-')) return invalid("expected a name that does not begin with -, not " + quoted_excerpt(name));
  return check_name(name);
}

Status check_base(std::string_view base) {
  const auto refs = refs_of_base(base);
  return refs ? Status() : std::unexpected(refs.error());
}

Status check_delay(Millis delay) {
  if (delay >= Millis{0} && delay <= kDurationMax) return {};
  return invalid(
      fmt::format("expected a duration from 0 to {}, not {}", format_duration(kDurationMax), format_duration(delay)));
}

Status check_tags(const std::vector<std::string>& tags) {
  if (tags.size() > kTagsMax) return invalid(fmt::format("expected at most {} tags, not {}", kTagsMax, tags.size()));
  for (const std::string& tag : tags) {
    TRY(check_name(tag));
  }
  return {};
}

Status check_locks(const std::vector<std::string>& locks) {
  if (locks.size() > kLocksMax)
    return invalid(fmt::format("expected at most {} locks, not {}", kLocksMax, locks.size()));
  for (auto lock = locks.begin(); lock != locks.end(); ++lock) {
    TRY(check_name(*lock));
    if (std::find(locks.begin(), lock, *lock) != lock) return invalid(fmt::format("{} is named twice", *lock));
  }
  return {};
}

Status check_parents(const std::vector<ParentRef>& parents) {
  if (parents.size() <= kParentsMax) return {};
  return invalid(fmt::format("expected at most {} parents, not {}", kParentsMax, parents.size()));
}

template <class A, class B>
Status check_not_both(const std::optional<A>& a, const std::optional<B>& b, std::string_view other) {
  if (!a || !b) return {};
  return invalid(fmt::format("not together with {}", other));
}

Status check_window_has_use(const TaskSpec& spec) {
  if (!spec.dedupe_window || spec.dedupe == DedupeMode::kDrop) return {};
  return invalid("only the dedupe mode drop has a window");
}

template <class T>
Status check_has_session(const std::optional<T>& asked, const TaskSpec& spec) {
  if (!asked || spec.session) return {};
  return invalid("needs a session");
}

auto within(Bounds bounds) {
  return [bounds](std::int64_t value) { return check_bounds(value, bounds); };
}

// ---- what a caller says of a field, by its kind and type

template <class Field, class T>
Status check_value(Field field, const T& value) {
  if constexpr (field.kIs.kind == FieldKind::kName) return check_name(value);
  if constexpr (field.template is<&Task::repo>()) return check_repo(value);
  if constexpr (field.template is<&Task::model>()) return check_word(value);
  if constexpr (field.template is<&Task::base>()) return check_base(value);
  if constexpr (field.kIs.kind == FieldKind::kLabel) return check_label(value);
  if constexpr (field.kIs.kind == FieldKind::kText) return check_text(value);
  if constexpr (field.kIs.bounds.max > 0) return check_bounds(value, field.kIs.bounds);
  if constexpr (field.template is<&Task::tags>()) return check_tags(value);
  if constexpr (field.template is<&Task::depends_on>()) return check_parents(value);
  if constexpr (std::is_same_v<T, Millis>) return check_time_limit(value);
  if constexpr (std::is_same_v<T, RetryPolicy>) return check_retry_policy(value);
  return {};
}
template <class Field, class T>
Status check_value(Field field, const std::optional<T>& value) {
  return value ? check_value(field, *value) : Status();
}

void check_fields(Checker& check, const TaskSpec& spec) {
  visit_task_fields([&](auto field) {
    if constexpr (field.kIsAsked) check.take(without_unit(field.name()), check_value(field, field.asked(spec)));
  });
}

// What a caller may say, but does not stand in the task itself.
void check_asked_only(Checker& check, const TaskSpec& spec) {
  check.take("locks", check_locks(spec.locks));
  check.optional("session", spec.session, check_session_name);
  check.take("busy", check_has_session(spec.busy, spec));
  check.take("bootstrap", check_has_session(spec.bootstrap, spec));
  check.optional("bootstrap", spec.bootstrap, check_bootstrap);
  check.optional("delay", spec.delay, check_delay);
  check.take("delay", check_not_both(spec.delay, spec.run_at, "run_at"));
  check.optional("deadline", spec.deadline, check_time_limit);
  check.take("deadline", check_not_both(spec.deadline, spec.deadline_at, "deadline_at"));
  check.optional("dedupe_window", spec.dedupe_window, check_time_limit);
  check.take("dedupe_window", check_window_has_use(spec));
}

}  // namespace

Status check_bounds(std::int64_t value, Bounds bounds) {
  if (value >= bounds.min && value <= bounds.max) return {};
  return invalid(fmt::format("expected a whole number from {} to {}, not {}", bounds.min, bounds.max, value));
}

Status check_lease_length(Millis lease) {
  if (lease >= kLeaseMin && lease <= kLeaseMax) return {};
  return invalid(fmt::format("a lease must be between {} and {}, not {}", format_duration(kLeaseMin),
                             format_duration(kLeaseMax), format_duration(lease)));
}

Status check_time_limit(Millis limit) {
  if (limit >= kTimeLimitMin && limit <= kDurationMax) return {};
  return invalid(fmt::format("expected a duration from {} to {}, not {}", format_duration(kTimeLimitMin),
                             format_duration(kDurationMax), format_duration(limit)));
}

Status check_name(std::string_view name) {
  if (is_name(name)) return {};
  return invalid("expected 1 to 128 letters, digits or any of _ . : @ -, not " + quoted_excerpt(name));
}

Status check_word(std::string_view word) {
  const auto refuse = [&](std::string_view why) { return invalid(fmt::format("{} {}", quoted_excerpt(word), why)); };
  if (word.empty()) return invalid("expected at least one character; leave it out instead");
  if (word.starts_with('-')) return refuse("begins with '-' and could be taken for an option");
  if (std::ranges::any_of(word, is_control)) return refuse("has control characters");
  if (!is_utf8(word)) return refuse("is not UTF-8");
  if (word.size() > kWordBytesMax) return refuse(fmt::format("is longer than {} bytes", kWordBytesMax));
  return {};
}

// What cannot be written down and read again is no policy.
Status check_retry_policy(const RetryPolicy& policy) {
  TRY(parse_retry_policy(to_string(policy)));
  return {};
}

std::unexpected<Error> at_field(std::string_view field, Error error) {
  error.message = fmt::format("{}: {}", field, error.message);
  return std::unexpected(std::move(error));
}

Status check_spec(const TaskSpec& spec) {
  Checker check;
  check_fields(check, spec);
  check_asked_only(check, spec);
  return std::move(check).verdict();
}

Status check_one_payload(const std::optional<JsonText>& payload, const std::optional<JsonText>& patch) {
  if (!payload || !patch) return {};
  return invalid("a payload and a patch do not go together");
}

Status check_edit(const EditOrder& order) {
  const bool changes_something =
      order.priority || order.run_at || order.delay || order.payload || order.patch || order.tags;
  if (!changes_something) return invalid("say what is to change: priority, run_at, delay, payload, patch or tags");
  Checker check;
  check.optional("priority", order.priority, within(kPriorityBounds));
  check.optional("delay", order.delay, check_delay);
  check.take("delay", check_not_both(order.delay, order.run_at, "run_at"));
  check.optional("tags", order.tags, check_tags);
  check.take("payload", check_one_payload(order.payload, order.patch));
  check.optional("version", order.version, check_name);
  return std::move(check).verdict();
}

}  // namespace drover
