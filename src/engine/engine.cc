#include "engine/engine.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "base/try.h"
#include "core/page_limit.h"
#include "core/task_filter.h"
#include "core/task_json.h"
#include "engine/cascade.h"
#include "engine/document_check.h"
#include "engine/gate_questions.h"
#include "engine/sessions.h"
#include "policy/document.h"

namespace drover {

namespace {

constexpr int kRunsShown = 1'000;

}  // namespace

std::unexpected<Error> no_such_task(const TaskId& id) {
  return fail(ErrorCode::kNotFound, fmt::format("there is no task {}", id.to_string()));
}

std::unexpected<Error> still_leased(const TaskId& id) {
  return fail(ErrorCode::kWrongState,
              fmt::format("task {} was running when its deadline passed, and its agent may still be alive: try again "
                          "when the lease of that run has ended",
                          id.to_string()));
}

Status check_words(std::string_view what, std::string_view words) {
  constexpr std::size_t kWordsBytesMax = 4'096;
  if (words.size() <= kWordsBytesMax && is_utf8(words)) return {};
  return fail(ErrorCode::kInvalidArgument, fmt::format("{} must be UTF-8 of at most {} bytes", what, kWordsBytesMax));
}

Status check_verdict(const Verdict& verdict) {
  TRY(check_words("who", verdict.by));
  return check_words("a reason", verdict.why);
}

std::unexpected<Error> too_much_contention(std::string_view verb) {
  return fail(ErrorCode::kStoreUnavailable, "others keep changing the same tasks; try again",
              fmt::format("engine.{}", verb));
}

Status Engine::change(const TaskId& id, Parts parts, std::string_view verb, const Decide& decide) {
  for (int attempt = 0; attempt < kDecideTriesMax; ++attempt) {
    RecordView view(store_);
    const std::optional<TaskRecord> record = TRY(view.find(id, parts));
    if (!record) return no_such_task(id);
    const StepGroup group = TRY(decide(view, *record));
    if (group.steps.empty()) return {};
    const auto applied = TRY(store_.apply(std::span(&group, 1)));
    if (applied.front() == Applied::kDone) return {};
    if (applied.front() == Applied::kStillLeased) return still_leased(id);
  }
  return too_much_contention(verb);
}

Result<Task> Engine::get(const TaskId& id) {
  auto records = TRY(store_.read(std::span(&id, 1), Parts::kAll));
  std::optional<TaskRecord>& record = records.front();
  if (!record) return no_such_task(id);
  return std::move(record->task);
}

Result<std::vector<std::optional<Task>>> Engine::heads(std::span<const TaskId> ids) {
  auto records = TRY(store_.read(ids, Parts::kHead));
  std::vector<std::optional<Task>> found;
  for (std::optional<TaskRecord>& record : records) {
    found.push_back(record ? std::optional(std::move(record->task)) : std::nullopt);
  }
  return found;
}

Result<std::vector<RunSummary>> Engine::runs(const TaskId& id) {
  auto records = TRY(store_.read(std::span(&id, 1), Parts::kHead));
  if (!records.front()) return no_such_task(id);
  return store_.runs(id, kRunsShown);
}

Result<TaskPage> Engine::list(const TaskFilter& filter, int limit, const std::optional<std::string>& cursor) {
  return list_parts(filter, limit, cursor, Parts::kAll);
}

Result<TaskPage> Engine::list_heads(const TaskFilter& filter, int limit, const std::optional<std::string>& cursor) {
  return list_parts(filter, limit, cursor, Parts::kHead);
}

Result<SummaryPage> Engine::summaries(const TaskFilter& filter, int limit, const std::optional<std::string>& cursor) {
  auto listed = TRY(list_parts(filter, limit, cursor, Parts::kSummary));
  SummaryPage page{.cursor = std::move(listed.cursor), .searched = listed.searched};
  for (Task& task : listed.tasks) page.tasks.push_back(summary_of(std::move(task)));
  return page;
}

Status Engine::change_document(DocumentKind kind, std::string_view verb, const ChangeText& change) {
  for (int attempt = 0; attempt < kDecideTriesMax; ++attempt) {
    const auto document = TRY(store_.document(kind));
    const auto changed = TRY(change(document.text));
    if (changed == document.text) return {};
    const auto written = TRY(store_.put_document(kind, changed, document.version, {}));
    if (written) return {};
  }
  return too_much_contention(verb);
}

Result<TaskPage> Engine::list_parts(const TaskFilter& filter, int limit, const std::optional<std::string>& cursor,
                                    Parts parts) {
  TRY(check_page_limit(limit));
  TRY(check_filter(filter));
  auto page = TRY(store_.list(filter, limit, cursor, parts));
  TaskPage out{.tasks = {}, .cursor = std::move(page.cursor), .searched = page.searched};
  out.tasks.reserve(page.records.size());
  for (TaskRecord& record : page.records) out.tasks.push_back(std::move(record.task));
  return out;
}

Result<std::vector<Event>> Engine::events(std::int64_t after, int limit) {
  TRY(check_page_limit(limit));
  return store_.events(after, limit);
}

Result<std::int64_t> Engine::last_event_seq() {
  return store_.last_event_seq();
}

Result<LogPage> Engine::log(const TaskId& id, const LogQuery& query) {
  TRY(check_page_limit(query.limit));
  auto records = TRY(store_.read(std::span(&id, 1), Parts::kHead));
  if (!records.front()) return no_such_task(id);
  return store_.log(id, query);
}

Result<std::string> Engine::store_id() {
  if (std::string id = store_.seen().store; !id.empty()) return id;
  const auto state = TRY(store_.state());
  return state.extent.epochs.front().id;
}

Result<Config> Engine::config() {
  return store_.config();
}

Result<std::vector<ConfigVersion>> Engine::config_versions() {
  return store_.config_versions(kPageMax);
}

Result<Config> Engine::config_at(std::int64_t version) {
  auto document = TRY(store_.config_at(version));
  if (document) return Config{.version = version, .document = *std::move(document)};
  return drover::fail(
      ErrorCode::kNotFound,
      fmt::format("there is no version {} of the policy; `drover config history` lists those there are", version));
}

Result<std::shared_ptr<const Policy>> Engine::policy() {
  auto config = TRY(store_.config());
  const std::lock_guard lock(policy_mutex_);
  if (policy_ && policy_version_ == config.version) return policy_;
  auto stored = TRY(read_stored_policy(config.document));
  if (!stored.ignored.empty()) {
    log_warn(
        "policy", "a newer version applied this policy; fields that this version does not know are ignored",
        {{"version", std::to_string(config.version)}, {"ignored", fmt::format("{}", fmt::join(stored.ignored, ", "))}});
  }
  policy_ = std::make_shared<const Policy>(std::move(stored.policy));
  policy_version_ = config.version;
  return policy_;
}

// What follows from the policy, which no store reads, is mended here: the same policy is stored once more.
// A read would repair damage that is only to be looked at. A store that does not answer any more has answered for the
// rest.
void Engine::check_own(FsckMode mode, std::vector<Finding>& findings) {
  const bool is_damaged = std::ranges::find(findings, "wrong_type", &Finding::code) != findings.end();
  if (is_damaged && mode == FsckMode::kCheck) return;
  const auto add = [&](std::string_view what, Result<std::vector<Finding>> found) {
    if (found) {
      std::ranges::move(*found, std::back_inserter(findings));
    } else {
      log_warn("fsck", fmt::format("{} were not checked", what), {{"error", to_string(found.error())}});
    }
  };
  add("sessions", check_sessions(store_, mode));
  add("questions of gates", check_gate_questions(store_, mode));
  add("conversations", check_conversations(store_, mode));
  add("the documents of the engine", check_documents(store_, mode));
}

Result<std::vector<Finding>> Engine::fsck(FsckMode mode) {
  auto findings = store_.fsck(mode);
  if (!findings) return findings;
  check_own(mode, *findings);
  if (mode == FsckMode::kCheck) return findings;
  const auto found = std::ranges::find(*findings, "weights_missing", &Finding::code);
  if (found == findings->end()) return findings;
  const auto config = store_.config();
  if (!config) return findings;
  const auto stored = read_stored_policy(config->document);
  found->repaired = stored && put_policy(config->document, stored->policy, config->version).has_value();
  return findings;
}

}  // namespace drover
