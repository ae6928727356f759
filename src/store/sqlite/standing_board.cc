#include "store/sqlite/standing_board.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <string_view>
#include <utility>

#include "base/log.h"
#include "base/text.h"
#include "core/spec_check.h"

namespace drover::sqlite {
namespace {

constexpr mode_t kBoardMode = 0600;
constexpr std::size_t kPage = 4096;
constexpr std::size_t kTextMax = 3'000;
constexpr std::int32_t kNoRank = -1;

struct flock lock_of_byte(short type, std::size_t number) {
  struct flock byte{};
  byte.l_type = type;
  byte.l_whence = SEEK_SET;
  byte.l_start = static_cast<off_t>(number);
  byte.l_len = 1;
  return byte;
}

// The worker, then a line for each of its serves: the queue, and the type if it serves only that.
std::string to_board_text(const ClaimRequest& request) {
  std::string text = request.worker_id;
  for (const Serve& serve : request.serves) {
    text += '\n' + serve.queue;
    if (serve.type) text += ' ' + *serve.type;
  }
  return text;
}

// Up to the separator, which goes with it.
std::string take_until(char separator, std::string_view& rest) {
  const std::size_t size = std::min(rest.find(separator), rest.size());
  std::string taken(rest.substr(0, size));
  rest.remove_prefix(std::min(size + 1, rest.size()));
  return taken;
}

// False if it is none that to_board_text has written.
bool read_board_text(std::string_view text, ClaimRequest& request) {
  request.worker_id = take_until('\n', text);
  if (!is_name(request.worker_id)) return false;
  while (!text.empty()) {
    const std::string line = take_until('\n', text);
    std::string_view rest = line;
    Serve serve{take_until(' ', rest), std::nullopt};
    if (!rest.empty()) serve.type = std::string(rest);
    if (!is_name(serve.queue) || (serve.type && !is_name(*serve.type))) return false;
    request.serves.push_back(std::move(serve));
  }
  return !request.serves.empty();
}

}  // namespace

// ---- what is in the file: another layout needs another name

struct StandingBoard::SharedPlace {
  std::atomic<std::int64_t> alive_at_ms;  // by the clock of leases
  // The order.
  std::int64_t lease_ms;
  std::int32_t reserved_rank;
  std::int32_t reserved_n_others;
  std::uint32_t tasks_max;
  std::uint32_t text_size;
  std::array<LeaseId::Bytes, kTasksMax> lease_ids;
  std::array<char, kTextMax> text;
  // What was taken, by who tried it.
  std::array<TaskId::Bytes, kTasksMax> taken;
  std::int64_t leased_at_ms;
  std::atomic<std::uint32_t> taken_n;
};

struct StandingBoard::Shared {
  // The number of a claim, and behind it the state. Together, so that who looks for claims that stand reads one page.
  std::array<std::atomic<std::uint64_t>, kPlaces> words;
  std::atomic<std::uint32_t> next_visit;
  alignas(kPage) std::array<SharedPlace, kPlaces> places;

  static std::uint64_t word(std::uint64_t claim, State state) { return claim << 2 | static_cast<std::uint64_t>(state); }
  static std::uint64_t claim_in(std::uint64_t word) { return word >> 2; }

  bool is(std::size_t number, std::uint64_t claim, State state) const { return words[number] == word(claim, state); }
  bool move(std::size_t number, std::uint64_t claim, State from, State to) {
    std::uint64_t expected = word(claim, from);
    return words[number].compare_exchange_strong(expected, word(claim, to));
  }
  // Whatever becomes of the one before. Answers its number.
  std::uint64_t begin_claim(std::size_t number) {
    const std::uint64_t claim = claim_in(words[number]) + 1;
    words[number] = word(claim, State::kEmpty);
    return claim;
  }
};

// The places whose byte this process has locked. It keeps them.
class StandingBoard::OwnPlaces {
 public:
  enum class Use : std::uint8_t { kNotOurs, kFree, kTaken };

  std::mutex mutex;
  std::array<Use, kPlaces> uses{};  // guarded by it
};

// ---- opening

std::unique_ptr<StandingBoard> StandingBoard::open(const std::string& path) {
  const auto none = [&](int error) {
    log_warn("store", "idle workers leave no claims with other processes, and begin a little later",
             {{"path", path}, {"why", std::strerror(error)}});
    return nullptr;
  };
  UniqueFd file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, kBoardMode));
  if (!file.is_open()) return none(errno);
  struct stat facts{};
  if (::fstat(file.get(), &facts) != 0) return none(errno);
  // All of it at once: who writes where a disk has no room for a page is killed.
  if (std::cmp_less(facts.st_size, sizeof(Shared))) {
    if (const int error = ::posix_fallocate(file.get(), 0, sizeof(Shared)); error != 0) return none(error);
  }
  void* const memory = ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (memory == MAP_FAILED) return none(errno);
  return std::unique_ptr<StandingBoard>(new StandingBoard(std::move(file), static_cast<Shared*>(memory)));
}

StandingBoard::StandingBoard(UniqueFd file, Shared* shared)
    : file_(std::move(file)), shared_(shared), own_(std::make_unique<OwnPlaces>()) {}

StandingBoard::~StandingBoard() {
  ::munmap(shared_, sizeof(Shared));
}

// ---- claims of this process

std::optional<std::size_t> StandingBoard::own_free_place() {
  using Use = OwnPlaces::Use;
  const auto free = std::ranges::find(own_->uses, Use::kFree);
  if (free != own_->uses.end()) return static_cast<std::size_t>(free - own_->uses.begin());
  for (std::size_t number = 0; number < kPlaces; ++number) {
    if (own_->uses[number] != Use::kNotOurs) continue;
    struct flock ours = lock_of_byte(F_WRLCK, number);
    if (::fcntl(file_.get(), F_OFD_SETLK, &ours) == 0) return number;
  }
  return std::nullopt;
}

std::unique_ptr<StandingBoard::Place> StandingBoard::leave(const ClaimOrder& order, MonoTime now) {
  const std::string text = to_board_text(order.request);
  if (text.size() > kTextMax) return nullptr;
  const std::lock_guard lock(own_->mutex);
  const std::optional<std::size_t> number = own_free_place();
  if (!number) return nullptr;
  own_->uses[*number] = OwnPlaces::Use::kTaken;
  const std::uint64_t claim = shared_->begin_claim(*number);
  SharedPlace& place = shared_->places[*number];
  place.alive_at_ms = now.since_origin.count();
  place.lease_ms = order.request.lease.count();
  place.reserved_rank = order.reserved ? order.reserved->rank : kNoRank;
  place.reserved_n_others = order.reserved ? order.reserved->n_others : 0;
  place.tasks_max = static_cast<std::uint32_t>(std::min(order.lease_ids.size(), kTasksMax));
  for (std::size_t i = 0; i < place.tasks_max; ++i) place.lease_ids[i] = order.lease_ids[i].bytes();
  place.text_size = static_cast<std::uint32_t>(text.size());
  std::ranges::copy(text, place.text.begin());
  place.taken_n = 0;
  static_cast<void>(shared_->move(*number, claim, State::kEmpty, State::kStanding));
  return std::make_unique<Place>(*this, *number, claim);
}

void StandingBoard::beat(MonoTime now) {
  const std::lock_guard lock(own_->mutex);
  for (std::size_t number = 0; number < kPlaces; ++number) {
    if (own_->uses[number] != OwnPlaces::Use::kTaken) continue;
    shared_->places[number].alive_at_ms = now.since_origin.count();
  }
}

StandingBoard::Place::~Place() {
  const std::lock_guard lock(board_.own_->mutex);
  static_cast<void>(board_.shared_->begin_claim(number_));
  board_.own_->uses[number_] = OwnPlaces::Use::kFree;
}

bool StandingBoard::Place::take_down() {
  return board_.shared_->move(number_, claim_, State::kStanding, State::kEmpty);
}

void StandingBoard::Place::put_up() {
  static_cast<void>(board_.shared_->move(number_, claim_, State::kEmpty, State::kStanding));
}

void StandingBoard::Place::close() {
  if (!take_down()) static_cast<void>(board_.shared_->move(number_, claim_, State::kTried, State::kAnswered));
}

bool StandingBoard::Place::is_answered() const {
  return board_.shared_->is(number_, claim_, State::kAnswered);
}

StandingBoard::Place::Answer StandingBoard::Place::answer() const {
  const SharedPlace& place = board_.shared_->places[number_];
  Answer answer{{}, {Millis(0)}};
  const std::size_t taken_n = std::min<std::size_t>(place.taken_n, kTasksMax);
  if (taken_n == 0) return answer;
  for (std::size_t i = 0; i < taken_n; ++i) answer.tasks.emplace_back(place.taken[i]);
  answer.leased_at = {Millis(place.leased_at_ms)};
  return answer;
}

// ---- claims of others

bool StandingBoard::is_owned_elsewhere(std::size_t number) const {
  struct flock wanted = lock_of_byte(F_WRLCK, number);
  return ::fcntl(file_.get(), F_OFD_GETLK, &wanted) == 0 && wanted.l_type != F_UNLCK;
}

std::vector<StandingBoard::Visit> StandingBoard::visit_others(
    MonoTime now, const std::function<bool(const ClaimOrder&)>& may_find_something) {
  std::vector<Visit> visits;
  std::size_t asked = 0;
  const std::size_t first = shared_->next_visit;  // which may be anything, as all that is in the file
  for (std::size_t i = 0; i < kPlaces && asked < kVisitsMax; ++i) {
    const std::size_t number = (first % kPlaces + i) % kPlaces;
    const std::uint64_t word = shared_->words[number].load(std::memory_order_relaxed);
    const std::uint64_t claim = Shared::claim_in(word);
    const bool stands = word == Shared::word(claim, State::kStanding);
    if (!stands || shared_->places[number].alive_at_ms < (now.since_origin - kSilentMax).count()) continue;
    std::optional<ClaimOrder> order = begin_visit(number, claim);
    if (!order) continue;
    ++asked;
    shared_->next_visit = static_cast<std::uint32_t>((number + 1) % kPlaces);
    Visit visit(*this, number, claim, *std::move(order));
    if (may_find_something(visit.order()) && is_owned_elsewhere(number)) {
      visits.push_back(std::move(visit));
    } else {
      visit.put_back();
    }
  }
  return visits;
}

// None if it is not there any more, or is none that this version can read: then nobody looks at it again.
std::optional<ClaimOrder> StandingBoard::begin_visit(std::size_t number, std::uint64_t claim) {
  if (!shared_->move(number, claim, State::kStanding, State::kTried)) return std::nullopt;
  std::optional<ClaimOrder> order = read_order(shared_->places[number]);
  // Else it was read while somebody wrote the next one.
  const bool is_same = shared_->is(number, claim, State::kTried);
  if (order && is_same) return order;
  if (is_same) log_warn("store", "a claim that another process left cannot be read and is passed over", {});
  static_cast<void>(shared_->move(number, claim, State::kTried, State::kAnswered));
  return std::nullopt;
}

std::optional<ClaimOrder> StandingBoard::read_order(const SharedPlace& place) {
  ClaimOrder order;
  const std::size_t tasks_max = place.tasks_max;
  const std::size_t text_size = place.text_size;
  if (tasks_max < 1 || tasks_max > kTasksMax || text_size > kTextMax) return std::nullopt;
  order.request.n = static_cast<int>(tasks_max);
  order.request.lease = Millis(place.lease_ms);
  if (!check_lease_length(order.request.lease)) return std::nullopt;
  if (!read_board_text({place.text.data(), text_size}, order.request)) return std::nullopt;
  for (std::size_t i = 0; i < tasks_max; ++i) order.lease_ids.emplace_back(place.lease_ids[i]);
  if (place.reserved_rank != kNoRank) order.reserved = ReservedSlots{place.reserved_rank, place.reserved_n_others};
  return order;
}

void StandingBoard::Visit::note_taken(std::span<const TaskRecord> records, MonoTime leased_at) {
  SharedPlace& place = board_.shared_->places[number_];
  for (std::size_t i = 0; i < records.size(); ++i) place.taken[i] = records[i].task.id.bytes();
  place.leased_at_ms = leased_at.since_origin.count();
  place.taken_n = static_cast<std::uint32_t>(records.size());
  has_taken_ = !records.empty();
}

void StandingBoard::Visit::answer() {
  static_cast<void>(board_.shared_->move(number_, claim_, State::kTried, State::kAnswered));
}

void StandingBoard::Visit::put_back() {
  static_cast<void>(board_.shared_->move(number_, claim_, State::kTried, State::kStanding));
}

}  // namespace drover::sqlite
