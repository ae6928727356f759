// Steps, claims, renewals and notes over Redis.
#include <algorithm>
#include <memory>
#include <numeric>

#include "base/check.h"
#include "base/json.h"
#include "base/try.h"
#include "store/redis/log_pieces.h"
#include "store/redis/pool_names.h"
#include "store/redis/record_text.h"
#include "store/redis/redis_store_class.h"
#include "store/redis/step_arguments.h"

namespace drover::redis {
namespace {

void pack_note(redis::Pack& pack, const Note& note, std::int64_t log_bytes_max) {
  pack.put(note.lease.task.to_string()).put(note.lease.id.to_string());
  if (note.progress) {
    json::Writer data;
    data.begin_object().key("percent").number(note.progress->percent);
    data.key("message").string(note.progress->message).end_object();
    pack.put(redis::to_text(*note.progress)).put(std::move(data).take());
  } else {
    pack.put(false).put(false);
  }
  if (note.checkpoint) {
    pack.put(*note.checkpoint);
  } else {
    pack.put(false);
  }
  redis::pack_log_pieces(pack, note.log, log_bytes_max);
}

constexpr std::int64_t kNoSuchWorker = -1;  // in the place of whether there is more
constexpr std::size_t kClaimMax = 100;      // tasks that one claim takes for several callers

// Which parcels are one claim, by their indices.
std::vector<std::vector<std::size_t>> claims_of(std::span<const ClaimParcel* const> parcels) {
  struct Claim {
    std::vector<std::size_t> indices;
    std::size_t size;
  };
  std::vector<Claim> claims;
  for (std::size_t i = 0; i < parcels.size(); ++i) {
    const ClaimParcel& parcel = *parcels[i];
    const auto fits = [&](const Claim& claim) {
      return claim.size + parcel.size() <= kClaimMax && go_together(*parcels[claim.indices.front()], parcel);
    };
    const auto found = std::ranges::find_if(claims, fits);
    Claim& claim = found != claims.end() ? *found : claims.emplace_back();
    claim.indices.push_back(i);
    claim.size += parcel.size();
  }
  std::vector<std::vector<std::size_t>> indices;
  for (Claim& claim : claims) indices.push_back(std::move(claim.indices));
  return indices;
}

bool is_no_pool(const Reply& reply) {
  return reply.is_error() && reply.error_text().starts_with("NOPOOL");
}

// What a claim was answered, to those whom it was made for.
std::vector<Result<ClaimAnswer>> shared_out(Result<Reply> reply, std::span<const ClaimParcel* const> parcels) {
  const auto all = [&](const Error& error) {
    return std::vector<Result<ClaimAnswer>>(parcels.size(), std::unexpected(error));
  };
  if (!reply) return all(reply.error());
  const auto answer = std::make_shared<const Reply>(*std::move(reply));
  // More, visits, and the parts of each record.
  const auto parts = answer->as_array();
  if (!parts) return all(parts.error());
  const auto more =
      parts->empty() ? drover::fail(ErrorCode::kStoreDamaged, "an empty answer") : parts->front().as_integer();
  if (!more) return all(more.error());
  std::vector<Result<ClaimAnswer>> answers;
  auto left = parts->subspan(std::min<std::size_t>(2, parts->size()));
  for (const ClaimParcel* parcel : parcels) {
    // What a repeated claim took before may be more than this one asks for; it stands alone.
    const std::size_t limit = parcel->claim_key ? left.size() : parcel->size();
    const std::size_t taken = std::min(left.size() / redis::kRecordParts, limit) * redis::kRecordParts;
    answers.emplace_back(ClaimAnswer{answer, left.first(taken), *more == 1, *more == kNoSuchWorker});
    left = left.subspan(taken);
  }
  return answers;
}

}  // namespace

// What asks for room goes by a function of its own, which Redis refuses as a whole when memory is short. An end with
// the task that follows it does not: it must go on.
Result<std::vector<Applied>> RedisStore::apply(std::span<const StepGroup> groups) {
  if (groups.empty()) return std::vector<Applied>();
  const bool adds = std::ranges::any_of(groups, [](const StepGroup& group) { return group.capacity.has_value(); });
  if (adds) {
    if (const auto tasks = redis::as_new_tasks(groups)) {
      auto added = new_tasks_.call(*tasks);
      if (added) committed();
      return added;
    }
  }
  std::vector<Applied> verdicts(groups.size(), Applied::kConflict);
  if (!adds) {
    TRY(end_runs(groups, verdicts));
  }
  TRY(apply_rest(groups, verdicts, adds ? additions_ : changes_of_stored_));
  committed();
  return verdicts;
}

// In the short way, if all of them can go that way: events keep the order of the groups.
Status RedisStore::end_runs(std::span<const StepGroup> groups, std::vector<Applied>& verdicts) {
  std::vector<redis::EndedRun> runs;
  runs.reserve(groups.size());
  for (const StepGroup& group : groups) {
    auto run = redis::as_ended_run(group);
    if (!run) return {};
    runs.push_back(*std::move(run));
  }
  verdicts = TRY(ended_runs_.call(runs));
  return {};
}

// What has not gone, whole. A short end conflicts, too, when a note has moved what was remembered of its record, and
// not its revision: only the whole group says which it was.
Status RedisStore::apply_rest(std::span<const StepGroup> groups, std::vector<Applied>& verdicts,
                              CombinedSteps<redis::PackedGroups>& calls) {
  std::vector<const StepGroup*> rest;
  std::vector<std::size_t> indices;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (verdicts[i] != Applied::kConflict) continue;
    rest.push_back(&groups[i]);
    indices.push_back(i);
  }
  if (rest.empty()) return {};
  const auto applied = TRY(calls.call(redis::packed_groups(rest)));
  for (std::size_t k = 0; k < indices.size(); ++k) verdicts[indices[k]] = applied[k];
  return {};
}

RedisStore::SharedVerdicts RedisStore::send_groups(std::string_view name,
                                                   std::span<const redis::PackedGroups* const> parcels) {
  redis::Pack packed;
  std::vector<std::size_t> sizes;
  std::size_t groups = 0;
  for (const redis::PackedGroups* parcel : parcels) {
    packed.put(parcel->packed);
    sizes.push_back(parcel->size());
    groups += parcel->groups;
  }
  return ask_verdicts(function(name).add(groups, packed.list()), sizes);
}

// No groups at all: Redis asks whether it may write before it runs the function.
Status RedisStore::try_write() {
  const auto reply = ask(function("enqueue").add(0, redis::Pack().list()));
  return reply ? Status() : Status(std::unexpected(reply.error()));
}

RedisStore::SharedVerdicts RedisStore::send_new(std::span<const redis::NewTasks* const> parcels) {
  Command command = function("add");
  std::vector<std::size_t> sizes;
  for (const redis::NewTasks* parcel : parcels) {
    for (const std::string& argument : parcel->arguments) command.add(argument);
    sizes.push_back(parcel->size());
  }
  return ask_verdicts(command, sizes);
}

RedisStore::SharedVerdicts RedisStore::send_ends(std::span<const std::vector<redis::EndedRun>* const> parcels) {
  std::vector<const redis::EndedRun*> runs;
  std::vector<std::size_t> sizes;
  for (const auto* parcel : parcels) {
    for (const redis::EndedRun& run : *parcel) runs.push_back(&run);
    sizes.push_back(parcel->size());
  }
  Command command = function("end_runs");
  command.add(runs.size());
  redis::add_to(command, runs);
  return ask_verdicts(command, sizes);
}

RedisStore::SharedVerdicts RedisStore::ask_verdicts(const Command& command, std::span<const std::size_t> sizes) {
  const auto all = [&](const Error& error) { return SharedVerdicts(sizes.size(), std::unexpected(error)); };
  const auto reply = ask(command);
  if (!reply) return all(reply.error());
  const auto items = reply->as_array_of(std::accumulate(sizes.begin(), sizes.end(), std::size_t{0}));
  if (!items) return all(items.error());
  SharedVerdicts shared;
  std::size_t at = 0;
  for (const std::size_t size : sizes) {
    Verdicts verdicts;
    for (const Reply& item : items->subspan(at, size)) {
      const auto verdict = item.as_integer();
      if (!verdict) return all(verdict.error());
      CHECK(*verdict >= 0 && *verdict <= static_cast<int>(Applied::kAllFull));
      verdicts.push_back(static_cast<Applied>(*verdict));
    }
    shared.emplace_back(std::move(verdicts));
    at += size;
  }
  return shared;
}

Result<Reply> RedisStore::make_pool(std::span<const std::string> lines) {
  Command command = function("make_pool");
  command.add(pool_of(lines));
  for (const std::string& line : lines) command.add(line);
  return ask(command);
}

// Of parcels that go together: what is taken is theirs in the order in which they came.
Command RedisStore::claim_command(std::span<const ClaimParcel* const> parcels) const {
  const ClaimParcel& first = *parcels.front();
  std::size_t n = 0;
  for (const ClaimParcel* parcel : parcels) n += parcel->size();
  Command command = function("claim");
  command.add(pool_of(first.lines), first.worker_id, first.lease.count(), n, first.reserved_rank, first.others_n);
  for (const ClaimParcel* parcel : parcels) {
    for (const LeaseId& id : parcel->lease_ids) command.add(id.to_string());
  }
  if (first.claim_key) command.add(*first.claim_key, first.takes_others ? 1 : 0);
  return command;
}

// One claim for those that go together, and all claims in one go.
std::vector<Result<ClaimAnswer>> RedisStore::send_claims(std::span<const ClaimParcel* const> parcels) {
  const std::vector<std::vector<std::size_t>> claims = claims_of(parcels);
  std::vector<Command> commands;
  std::vector<std::vector<const ClaimParcel*>> together;
  for (const std::vector<std::size_t>& claim : claims) {
    std::vector<const ClaimParcel*>& group = together.emplace_back();
    for (const std::size_t i : claim) group.push_back(parcels[i]);
    commands.push_back(claim_command(group));
  }
  std::vector<Result<ClaimAnswer>> answers(parcels.size(), drover::fail(ErrorCode::kInternal, "not answered"));
  auto replies = claims_.call(commands);
  for (std::size_t c = 0; c < claims.size(); ++c) {
    Result<Reply> reply = replies ? Result<Reply>(std::move((*replies)[c])) : std::unexpected(replies.error());
    if (reply && is_no_pool(*reply)) {
      auto made = make_pool(together[c].front()->lines);
      reply = made ? claims_.call(commands[c]) : std::unexpected(made.error());
    }
    if (reply && reply->is_error()) reply = std::unexpected(failure(*reply));
    auto shared = shared_out(std::move(reply), together[c]);
    for (std::size_t i = 0; i < claims[c].size(); ++i) answers[claims[c][i]] = std::move(shared[i]);
  }
  return answers;
}

Result<Claimed> RedisStore::claim(const ClaimRequest& request, std::span<const LeaseId> lease_ids,
                                  const std::optional<ReservedSlots>& reserved) {
  TRY(check_extent());
  const auto answer = claims_under_way_.call({.lines = lines_of(request.serves),
                                              .worker_id = request.worker_id,
                                              .lease = request.lease,
                                              .lease_ids = lease_ids,
                                              .reserved_rank = reserved ? reserved->rank : kPriorityMax,
                                              .others_n = reserved ? reserved->n_others : 0,
                                              .claim_key = request.claim_key,
                                              .takes_others = request.takes_others});
  if (!answer) return std::unexpected(answer.error());
  Claimed claimed;
  claimed.unknown_worker = answer->unknown_worker;
  claimed.more = answer->more;
  for (std::size_t at = 0; at < answer->parts.size(); at += redis::kRecordParts) {
    const auto record = answer->parts.subspan(at, redis::kRecordParts);
    if (add_readable(record, claimed.records)) {
      claimed.records.back().kept = redis::kept_as(record[1].as_text().value_or(""));
    }
  }
  if (!claimed.records.empty()) committed();
  return claimed;
}

Result<Beat> RedisStore::renew(const std::string& worker_id, std::span<const Lease> leases, Millis lease) {
  Command command = function("renew");
  command.add(worker_id, lease.count());
  for (const Lease& held : leases) command.add(held.task.to_string(), held.id.to_string());
  const auto reply = TRY(ask(renewals_, command));
  const auto items = TRY(reply.as_array());
  // One answer more than leases: the worker was told to drain.
  Beat beat{.leases = {}, .drain = items.size() == leases.size() + 1};
  if (!beat.drain && items.size() != leases.size()) {
    return fail(ErrorCode::kStoreDamaged, "renew answers for other leases", "redis.renew");
  }
  for (const Reply& item : items.first(leases.size())) {
    const auto state = TRY(item.as_integer());
    beat.leases.push_back(static_cast<LeaseState>(state));
  }
  return beat;
}

Result<std::vector<bool>> RedisStore::note(std::span<const Note> notes) {
  Command command = function("note");
  redis::Pack packed;
  for (const Note& note : notes) pack_note(packed, note, options_.log_bytes_max);
  command.add(options_.log_bytes_max, packed.list());
  const auto reply = TRY(ask(command));
  const auto items = TRY(reply.as_array_of(notes.size()));
  std::vector<bool> live;
  for (const Reply& item : items) live.push_back(item.as_integer().value_or(0) != 0);
  committed();
  return live;
}

}  // namespace drover::redis
