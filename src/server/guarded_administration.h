// An Administration as one caller may use it: what the role does not allow is kForbidden.
#pragma once

#include "base/try.h"
#include "core/administration.h"
#include "server/rights.h"

namespace drover::server {

class GuardedAdministration final : public Administration {
 public:
  // Both outlive it.
  GuardedAdministration(Administration& administration, const Principal& principal)
      : administration_(administration), principal_(principal) {}

  Result<CreatedToken> create_token(const NewToken& order) override {
    return if_allowed(Right::kAdminister, [&] { return administration_.create_token(order); });
  }
  Result<std::vector<TokenInfo>> tokens() override {
    return if_allowed(Right::kAdminister, [&] { return administration_.tokens(); });
  }
  Result<TokenInfo> revoke_token(const std::string& id, const std::string& by) override {
    return if_allowed(Right::kAdminister, [&] { return administration_.revoke_token(id, by); });
  }
  // Whoever has a token, for that one; and whoever has a code.
  Result<SigninCode> create_signin_code(const std::string& /*token_id*/) override {
    return administration_.create_signin_code(principal_.token_id);
  }
  Result<CreatedSignin> sign_in(const NewSignin& order) override { return administration_.sign_in(order); }
  // An admin sees everybody's.
  Result<std::vector<SigninInfo>> signins() override {
    auto all = TRY(administration_.signins());
    if (!need(principal_, Right::kAdminister)) {
      std::erase_if(all, [&](const SigninInfo& one) { return one.record.token_id != principal_.token_id; });
    }
    return all;
  }
  Status end_signin(const std::string& id, const std::optional<std::string>& of_token) override {
    if (need(principal_, Right::kAdminister)) return administration_.end_signin(id, of_token);
    return administration_.end_signin(id, principal_.token_id);
  }
  Result<StoreState> store_state() override {
    return if_allowed(Right::kOperate, [&] { return administration_.store_state(); });
  }
  Result<StoreState> accept_regression() override {
    return if_allowed(Right::kAdminister, [&] { return administration_.accept_regression(); });
  }
  // Whoever has a token.
  Result<Time> now() override { return administration_.now(); }
  Result<FleetLook> look_at_fleet() override {
    return if_allowed(Right::kOperate, [&] { return administration_.look_at_fleet(); });
  }
  Result<DumpPart> dump_head() override {
    return if_allowed(Right::kAdminister, [&] { return administration_.dump_head(); });
  }
  Result<DumpIds> dump_ids(const std::optional<std::string>& cursor) override {
    return if_allowed(Right::kAdminister, [&] { return administration_.dump_ids(cursor); });
  }
  Result<DumpPart> dump_tasks(std::span<const TaskId> ids) override {
    return if_allowed(Right::kAdminister, [&] { return administration_.dump_tasks(ids); });
  }
  Result<DumpPart> dump_events(std::int64_t after) override {
    return if_allowed(Right::kAdminister, [&] { return administration_.dump_events(after); });
  }
  Result<DumpConversations> dump_conversations(const std::optional<std::string>& cursor) override {
    return if_allowed(Right::kAdminister, [&] { return administration_.dump_conversations(cursor); });
  }
  Result<std::string> begin_import() override {
    return if_allowed(Right::kAdminister, [&] { return administration_.begin_import(); });
  }
  Result<DumpCounts> import_piece(const std::string& id, std::int64_t offset, std::string_view bytes) override {
    return if_allowed(Right::kAdminister, [&] { return administration_.import_piece(id, offset, bytes); });
  }
  Result<DumpCounts> finish_import(const std::string& id) override {
    return if_allowed(Right::kAdminister, [&] { return administration_.finish_import(id); });
  }

 private:
  template <class Call>
  [[nodiscard]] auto if_allowed(Right right, Call call) -> decltype(call()) {
    TRY(need(principal_, right));
    return call();
  }

  Administration& administration_;
  const Principal& principal_;
};

}  // namespace drover::server
