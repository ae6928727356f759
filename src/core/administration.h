// Administration: what is done to a whole store, beside the verbs of TaskQueue that are about tasks. As a TaskQueue, it
// is the store that is here (engine/local_administration.h), a server's as a caller may use it
// (server/guarded_administration.h), or a client of a server (remote/remote_administration.h).
//
// Safe to call from any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/access_token.h"
#include "core/epoch.h"
#include "core/signin.h"
#include "drover/error.h"
#include "drover/task_queue.h"

namespace drover {

// The fleet, looked at afresh.
struct FleetLook {
  Time now{};
  std::vector<WorkerInfo> workers;
  std::vector<Alert> alerts;
};

// Some lines of a dump, each with its end.
struct DumpPart {
  std::string text;
  std::int64_t count = 0;  // of the gates, tasks or events in it
  std::int64_t next = 0;   // of tasks: how many of the ids are done; of events: the number of the last
};

struct DumpIds {
  std::vector<TaskId> ids;
  std::optional<std::string> cursor;
};

// Lines of conversations, each with its end.
struct DumpConversations {
  std::string text{};
  std::optional<std::string> cursor{};  // where the next part starts; absent on the last one
};

struct DumpCounts {
  std::int64_t gates = 0;
  std::int64_t tasks = 0;
  std::int64_t events = 0;

  bool operator==(const DumpCounts&) const = default;
};

class Administration {
 public:
  virtual ~Administration() = default;

  // kInvalidArgument: what was asked for makes no sense. kLimitExceeded: there are as many as may be active.
  [[nodiscard]] virtual Result<CreatedToken> create_token(const NewToken& order) = 0;
  // Newest first, those that were revoked or have expired too.
  [[nodiscard]] virtual Result<std::vector<TokenInfo>> tokens() = 0;
  // One that was revoked before stays as it is. kNotFound: there is none with that id.
  [[nodiscard]] virtual Result<TokenInfo> revoke_token(const std::string& id, const std::string& by) = 0;

  // A code that signs a browser in for that token. A client makes one for its own token, whatever it names.
  [[nodiscard]] virtual Result<SigninCode> create_signin_code(const std::string& token_id) = 0;
  // Of a store that is here, for its server; what they answer is in engine/signins.h. A client leaves these to its
  // server.
  [[nodiscard]] virtual Result<CreatedSignin> sign_in(const NewSignin& /*order*/) { return leave_to_server(); }
  [[nodiscard]] virtual Result<std::vector<SigninInfo>> signins() { return leave_to_server(); }
  [[nodiscard]] virtual Status end_signin(const std::string& /*id*/, const std::optional<std::string>& /*of_token*/) {
    return leave_to_server();
  }

  // Whether the store is still where it has been: docs/internals/store-epochs.md.
  [[nodiscard]] virtual Result<StoreState> store_state() = 0;
  // Begins an epoch in which what was lost is accepted. The state afterwards, with the loss as it was before.
  [[nodiscard]] virtual Result<StoreState> accept_regression() = 0;

  // Of a store that is here, for its server (store/store.h): whether a new task could be stored now; how far the store
  // has been seen to be; what a client has seen of it. A client leaves these to its server.
  [[nodiscard]] virtual Status try_write() { return {}; }
  [[nodiscard]] virtual StoreMark seen() { return {}; }
  [[nodiscard]] virtual Result<bool> hear(const StoreMark& /*told*/) { return false; }

  // The clock that decides.
  [[nodiscard]] virtual Result<Time> now() = 0;
  // Writes nothing.
  [[nodiscard]] virtual Result<FleetLook> look_at_fleet() = 0;

  // The parts of a dump, which export_dump (engine/transfer.h) puts together: what comes before the tasks; the ids of
  // the tasks, newest first; the lines of as many of these tasks as make a MiB, at least one; a page of events.
  [[nodiscard]] virtual Result<DumpPart> dump_head() = 0;
  [[nodiscard]] virtual Result<DumpIds> dump_ids(const std::optional<std::string>& cursor) = 0;
  [[nodiscard]] virtual Result<DumpPart> dump_tasks(std::span<const TaskId> ids) = 0;
  [[nodiscard]] virtual Result<DumpPart> dump_events(std::int64_t after) = 0;
  // About a MiB of conversations, from a cursor on.
  [[nodiscard]] virtual Result<DumpConversations> dump_conversations(const std::optional<std::string>& cursor) = 0;

  // A dump back into an empty store, in pieces of any size; their offsets make it safe to send one again. Until it has
  // been finished the gate `all` is closed. kWrongState: there is something in the store, or an import under way.
  [[nodiscard]] virtual Result<std::string> begin_import() = 0;  // its id
  // kInvalidArgument names the line, and ends the import; so does a long time without a piece.
  [[nodiscard]] virtual Result<DumpCounts> import_piece(const std::string& id, std::int64_t offset,
                                                        std::string_view bytes) = 0;
  [[nodiscard]] virtual Result<DumpCounts> finish_import(const std::string& id) = 0;

 private:
  [[nodiscard]] static std::unexpected<Error> leave_to_server() {
    return fail(ErrorCode::kInvalidArgument, "browsers sign in at their server");
  }
};

}  // namespace drover
