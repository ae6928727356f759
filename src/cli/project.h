// The project: the drover.yaml of the current folder, whether it is trusted, and the store that all of it leads to.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "cli/context.h"
#include "engine/open.h"
#include "policy/document.h"

namespace drover::cli {

inline constexpr std::string_view kProjectFile = "drover.yaml";
inline constexpr std::string_view kProjectFolder = ".drover";

// Read once: what was checked is what is used.
struct Project {
  std::filesystem::path path;  // canonical
  std::string sha256;
  Document document;
};

// kInvalidConfig if it cannot be understood, with its line.
[[nodiscard]] Result<Project> read_project(const std::filesystem::path& file);
// The one of the current folder, if there is one.
[[nodiscard]] Result<std::optional<Project>> find_project(const Context& context);
// Whether the user has allowed exactly this content at this path.
[[nodiscard]] Result<bool> is_trusted(const Project& project, const Environment& environment);

// --log-level, else `local.log.level` of drover.yaml, else `otherwise`.
[[nodiscard]] LogLevel log_level_of(const Context& context, const std::optional<Project>& project, LogLevel otherwise);

// `local.server` of drover.yaml.
[[nodiscard]] ServerName server_name_of(const std::optional<Project>& project);

// What `drover up` and `drover work` say of a project that they will not run.
[[nodiscard]] std::string not_trusted_message(const Project& project);

// --store, else DROVER_STORE, else `store:` of drover.yaml, else .drover/drover.db if there is that folder, else
// drover.db in the user's state folder. A drover.yaml that is not trusted may name only a store inside its own folder.
[[nodiscard]] Result<std::string> choose_store(const Context& context);
// What is shown to a server: what --token-file holds, else DROVER_TOKEN, else nothing.
[[nodiscard]] Result<std::string> token_of(const Context& context);
// The store at that URL, or the server, which is shown the user's token. Errors name it.
[[nodiscard]] Result<std::unique_ptr<OpenedQueue>> open_store(const std::string& url, const Context& context);
// The store that was chosen. One that ends with this process is kInvalidArgument: what is done there is lost.
[[nodiscard]] Result<std::unique_ptr<OpenedQueue>> open_chosen_store(const Context& context);
// For what stays with the store and serves it to others: memory: will do, a server is kInvalidArgument.
[[nodiscard]] Result<std::unique_ptr<OpenedQueue>> open_own_store(const Context& context);
// The policy in force there.
[[nodiscard]] Result<Policy> policy_of(TaskQueue& queue);
// Where tasks of that type may wait: in the queue that the policy gives it, and in the one of its name, where those are
// that were enqueued before the policy was applied.
[[nodiscard]] std::vector<Serve> serves_of_type(const std::string& type, const Policy& policy);

}  // namespace drover::cli
