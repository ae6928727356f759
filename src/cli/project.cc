#include "cli/project.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/sha256.h"
#include "base/try.h"
#include "cli/files.h"
#include "cli/listing.h"
#include "cli/trust_file.h"

namespace drover::cli {
namespace {

constexpr ReadLimit kProjectLimit{4 << 20, ErrorCode::kInvalidConfig};
constexpr std::string_view kSqlite = "sqlite:";
constexpr std::string_view kMemory = "memory:";

std::string sqlite_url(const std::filesystem::path& path) {
  return fmt::format("{}{}", kSqlite, path.string());
}

// Nobody should be led to a store elsewhere by a file that came with a download.
bool stays_inside(std::string_view url) {
  if (url == kMemory) return true;
  if (!url.starts_with(kSqlite)) return false;
  const std::filesystem::path path(url.substr(kSqlite.size()));
  return path.is_relative() && std::ranges::find(path, "..") == path.end();
}

Result<std::optional<std::string>> store_of_project(const Context& context) {
  const std::optional<Project> project = TRY(find_project(context));
  if (!project) return std::nullopt;
  const std::optional<std::string>& url = project->document.local.store;
  if (!url || stays_inside(*url)) return url;
  const auto trusted = TRY(is_trusted(*project, context.environment));
  if (trusted) return url;
  return fail(ErrorCode::kForbidden, fmt::format("{} names a store outside its folder, {}; `drover trust` allows it, "
                                                 "--store chooses another",
                                                 project->path.string(), *url));
}

}  // namespace

Result<Project> read_project(const std::filesystem::path& file) {
  const auto text = TRY(read_input(file.string(), kProjectLimit));
  std::error_code error;
  Project project{.path = std::filesystem::canonical(file, error), .sha256 = sha256_hex(text)};
  if (error)
    return fail(ErrorCode::kInvalidArgument, fmt::format("cannot read {}: {}", file.string(), error.message()));
  project.document = TRY(parse_document(text, file.filename().string()));
  return project;
}

Result<bool> is_trusted(const Project& project, const Environment& environment) {
  const auto trust_file = TRY(TrustFile::of_user(environment));
  return trust_file.trusts(project.path, project.sha256);
}

Result<std::optional<Project>> find_project(const Context& context) {
  const std::filesystem::path file = context.folder / kProjectFile;
  std::error_code error;
  if (!std::filesystem::exists(file, error)) return std::nullopt;
  auto project = TRY(read_project(file));
  return project;
}

LogLevel log_level_of(const Context& context, const std::optional<Project>& project, LogLevel otherwise) {
  if (context.common.log_level) return *context.common.log_level;
  return project ? project->document.local.log_level.value_or(otherwise) : otherwise;
}

std::string not_trusted_message(const Project& project) {
  return fmt::format("{} is not trusted, so nothing of it runs; read it, then: drover trust {}", project.path.string(),
                     project.path.string());
}

Result<std::string> choose_store(const Context& context) {
  if (context.common.store) return *context.common.store;
  if (const std::string* url = context.environment.find("DROVER_STORE")) return *url;
  const auto of_project = TRY(store_of_project(context));
  if (const std::optional<std::string>& url = of_project) return *url;
  const std::filesystem::path folder = context.folder / kProjectFolder;
  std::error_code error;
  if (std::filesystem::is_directory(folder, error)) return sqlite_url(folder / "drover.db");
  const auto state = TRY(state_folder(context.environment));
  return sqlite_url(state / "drover.db");
}

ServerName server_name_of(const std::optional<Project>& project) {
  return project ? project->document.local.server : ServerName();
}

Result<std::string> token_of(const Context& context) {
  if (!context.common.token_file) {
    const std::string* token = context.environment.find("DROVER_TOKEN");
    return token != nullptr ? *token : std::string();
  }
  auto text = read_input(*context.common.token_file, {4'096, ErrorCode::kInvalidArgument});
  if (!text) return std::unexpected(text.error());
  while (!text->empty() && (text->back() == '\n' || text->back() == '\r')) text->pop_back();
  return text;
}

Result<std::unique_ptr<OpenedQueue>> open_store(const std::string& url, const Context& context) {
  const auto token = TRY(token_of(context));
  if (is_server(url) && token.empty()) {
    return fail(ErrorCode::kUnauthorised,
                "the server needs a token: set DROVER_TOKEN or --token-file (`drover token create` makes one)");
  }
  auto opened = open_queue(url, token);
  if (opened || !url.starts_with(kSqlite)) return opened;  // another URL may hold a password
  const std::string_view path = std::string_view(url).substr(kSqlite.size());
  if (opened.error().message.contains(path)) return opened;
  return fail(opened.error().code, fmt::format("{}: {}", path, opened.error().message), opened.error().operation);
}

Result<std::unique_ptr<OpenedQueue>> open_chosen_store(const Context& context) {
  const auto url = TRY(choose_store(context));
  if (url == kMemory) {
    return fail(ErrorCode::kInvalidArgument,
                "a store in memory would be gone when this command ends; name a lasting one with --store, or run "
                "`drover serve --store memory:` and use its address");
  }
  auto opened = TRY(open_store(url, context));
  for (const TaskPrefix& prefix : context.prefixes) {
    const TaskId id = TRY(task_with_prefix(opened->queue(), prefix.text));
    prefix.put(id);
  }
  return opened;
}

Result<std::unique_ptr<OpenedQueue>> open_own_store(const Context& context) {
  const auto url = TRY(choose_store(context));
  if (is_server(url)) {
    return fail(
        ErrorCode::kInvalidArgument,
        "this needs the store itself, not a server in front of it: name it with --store sqlite:PATH or redis://…");
  }
  return open_store(url, context);
}

Result<Policy> policy_of(TaskQueue& queue) {
  const auto config = TRY(queue.config());
  auto stored = TRY(read_stored_policy(config.document));
  return std::move(stored.policy);
}

std::vector<Serve> serves_of_type(const std::string& type, const Policy& policy) {
  std::vector<Serve> serves{{type, type}};
  if (const std::string queue = policy.queue_of(type); queue != type) serves.push_back({queue, type});
  return serves;
}

}  // namespace drover::cli
