// The administration of a store that is here.
#pragma once

#include <memory>
#include <mutex>

#include "core/administration.h"
#include "engine/engine.h"
#include "engine/signins.h"
#include "engine/tokens.h"

namespace drover {

class LocalAdministration final : public Administration {
 public:
  // All outlive it. `rng` makes the secrets: system_rng() but for tests.
  LocalAdministration(Store& store, Engine& engine, Rng& rng);
  ~LocalAdministration() override;

  Result<CreatedToken> create_token(const NewToken& order) override { return tokens_.create(order); }
  Result<std::vector<TokenInfo>> tokens() override { return tokens_.list(); }
  Result<TokenInfo> revoke_token(const std::string& id, const std::string& by) override {
    return tokens_.revoke(id, by);
  }
  Result<SigninCode> create_signin_code(const std::string& token_id) override { return signins_.create_code(token_id); }
  Result<CreatedSignin> sign_in(const NewSignin& order) override { return signins_.sign_in(order); }
  Result<std::vector<SigninInfo>> signins() override { return signins_.list(); }
  Status end_signin(const std::string& id, const std::optional<std::string>& of_token) override {
    return signins_.end(id, of_token);
  }
  Result<StoreState> store_state() override { return store_.state(); }
  Result<StoreState> accept_regression() override { return store_.accept_regression(); }
  Status try_write() override { return store_.try_write(); }
  StoreMark seen() override { return store_.seen(); }
  Result<bool> hear(const StoreMark& told) override { return store_.hear(told); }
  Result<Time> now() override { return store_.now(); }
  Result<FleetLook> look_at_fleet() override;
  Result<DumpPart> dump_head() override;
  Result<DumpIds> dump_ids(const std::optional<std::string>& cursor) override;
  Result<DumpPart> dump_tasks(std::span<const TaskId> ids) override;
  Result<DumpPart> dump_events(std::int64_t after) override;
  Result<DumpConversations> dump_conversations(const std::optional<std::string>& cursor) override;
  Result<std::string> begin_import() override;
  Result<DumpCounts> import_piece(const std::string& id, std::int64_t offset, std::string_view bytes) override;
  Result<DumpCounts> finish_import(const std::string& id) override;

 private:
  struct Import;

  void give_up_silent_import();
  [[nodiscard]] Result<Import*> find_import(const std::string& id);

  Store& store_;
  Engine& engine_;
  Rng& rng_;
  TokenBook tokens_;
  SigninBook signins_{tokens_, rng_};
  std::mutex import_mutex_;
  std::unique_ptr<Import> import_;  // the one under way
};

}  // namespace drover
