// drover.yaml: YAML or JSON. The shared part (types, queues, owners, gates, limits) becomes the policy in the store;
// `local` stays in this process.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "agents/runner_profile.h"
#include "base/log.h"
#include "core/policy.h"
#include "core/server_name.h"
#include "drover/error.h"
#include "drover/task_queue.h"

namespace drover {

struct LocalSettings {
  std::optional<LogLevel> log_level;
  std::optional<std::string> store;  // a store URL
  std::map<std::string, RunnerProfile, std::less<>> runners;
  Repos repos;
  ServerName server;  // that this process runs

  bool operator==(const LocalSettings&) const = default;
};

struct Document {
  Policy policy;
  LocalSettings local;
  JsonText shared;  // canonical JSON of everything but `local`: what config apply stores

  bool operator==(const Document&) const = default;
};

// Unknown fields and bad values are kInvalidConfig: "drover.yaml:12: types.eng.retry: …", with a suggestion where one
// is near.
[[nodiscard]] Result<Document> parse_document(std::string_view text, std::string_view file_name);
// The shared part alone, as strictly.
[[nodiscard]] Result<Policy> parse_policy(std::string_view shared_json);

struct StoredPolicy {
  Policy policy;
  std::vector<std::string> ignored;  // paths of the fields that this version does not know: "types.eng.sandbox"
};
// The shared part that a store has. A newer version may have applied it: a field that is unknown here is ignored, and
// nothing else is, so that an older program keeps working beside a newer one.
[[nodiscard]] Result<StoredPolicy> read_stored_policy(std::string_view shared_json);

}  // namespace drover
