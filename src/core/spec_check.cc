#include "core/spec_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"

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

Status check_delay(Millis delay) {
  if (delay >= Millis{0} && delay <= kDurationMax) return {};
  return invalid(
      fmt::format("expected a duration from 0 to {}, not {}", format_duration(kDurationMax), format_duration(delay)));
}

Status check_tags(const std::vector<std::string>& tags) {
  if (tags.size() > kTagsMax) return invalid(fmt::format("expected at most {} tags, not {}", kTagsMax, tags.size()));
  for (const std::string& tag : tags) {
    if (auto status = check_name(tag); !status) return status;
  }
  return {};
}

Status check_locks(const std::vector<std::string>& locks) {
  if (locks.size() > kLocksMax)
    return invalid(fmt::format("expected at most {} locks, not {}", kLocksMax, locks.size()));
  for (auto lock = locks.begin(); lock != locks.end(); ++lock) {
    if (auto status = check_name(*lock); !status) return status;
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

auto within(Bounds bounds) {
  return [bounds](std::int64_t value) { return check_bounds(value, bounds); };
}

void check_names(Checker& check, const TaskSpec& spec) {
  check.take("type", check_name(spec.type));
  check.optional("ref", spec.ref, check_name);
  check.optional("queue", spec.queue, check_name);
  check.optional("owner", spec.owner, check_name);
  check.optional("request_id", spec.request_id, check_name);
  check.optional("dedupe_key", spec.dedupe_key, check_name);
  check.take("tags", check_tags(spec.tags));
  check.take("locks", check_locks(spec.locks));
  check.take("depends_on", check_parents(spec.depends_on));
}

void check_texts(Checker& check, const TaskSpec& spec) {
  check.optional("prompt", spec.prompt, check_text);
  check.optional("system_prompt", spec.system_prompt, check_text);
  check.optional("model", spec.model, check_label);
  check.optional("agent_id", spec.agent_id, check_label);
  check.optional("source", spec.source, check_label);
  check.optional("traceparent", spec.traceparent, check_label);
}

void check_numbers(Checker& check, const TaskSpec& spec) {
  check.optional("priority", spec.priority, within(kPriorityBounds));
  check.optional("max_attempts", spec.max_attempts, within(kMaxAttemptsBounds));
  check.optional("max_stalls", spec.max_stalls, within(kMaxStallsBounds));
  check.optional("max_defers", spec.max_defers, within(kMaxDefersBounds));
  check.optional("cost", spec.cost, within(kCostBounds));
  check.optional("retry", spec.retry, check_retry_policy);
}

void check_times(Checker& check, const TaskSpec& spec) {
  check.optional("delay", spec.delay, check_delay);
  check.take("delay", check_not_both(spec.delay, spec.run_at, "run_at"));
  check.optional("deadline", spec.deadline, check_time_limit);
  check.take("deadline", check_not_both(spec.deadline, spec.deadline_at, "deadline_at"));
  check.optional("timeout", spec.timeout, check_time_limit);
  check.optional("idle_timeout", spec.idle_timeout, check_time_limit);
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

// What cannot be written down and read again is no policy.
Status check_retry_policy(const RetryPolicy& policy) {
  if (auto read_back = parse_retry_policy(to_string(policy)); !read_back) return std::unexpected(read_back.error());
  return {};
}

std::unexpected<Error> at_field(std::string_view field, Error error) {
  error.message = fmt::format("{}: {}", field, error.message);
  return std::unexpected(std::move(error));
}

Status check_spec(const TaskSpec& spec) {
  Checker check;
  check_names(check, spec);
  check_texts(check, spec);
  check_numbers(check, spec);
  check_times(check, spec);
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
