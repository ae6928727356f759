#include "store/redis/reply_reader.h"

#include <fmt/format.h>
#include <hiredis/hiredis.h>

#include <utility>

#include "base/check.h"

namespace drover::redis {
namespace {

constexpr std::size_t kElementsMax = std::size_t{1} << 22;  // far more than any function of ours gives
constexpr int kDepthMax = 8;

// What hiredis makes of a reply by itself.
const redisReplyObjectFunctions& plain_functions() {
  static const redisReplyObjectFunctions kFunctions = [] {
    redisReader* const reader = redisReaderCreate();
    CHECK(reader != nullptr);
    const redisReplyObjectFunctions copy = *reader->fn;
    redisReaderFree(reader);
    return copy;
  }();
  return kFunctions;
}

int depth_of(const redisReadTask* task) {
  int depth = 0;
  for (; task != nullptr; task = task->parent) ++depth;
  return depth;
}

// hiredis makes room for as many elements as are announced, and later versions nest as deep as they are told to. The
// number is an int to some versions and a size_t to others.
template <class Count>
void* create_bounded_array(const redisReadTask* task, Count elements) {
  if (std::cmp_greater(elements, kElementsMax) || depth_of(task) > kDepthMax) return nullptr;
  return plain_functions().createArray(task, elements);
}

redisReplyObjectFunctions* bounded_functions() {
  static redisReplyObjectFunctions functions = [] {
    redisReplyObjectFunctions copy = plain_functions();
    copy.createArray = create_bounded_array;
    return copy;
  }();
  return &functions;
}

struct FreeReply {
  void operator()(redisReply* reply) const { freeReplyObject(reply); }
};

Result<Reply> to_reply(const redisReply& raw);

Result<Reply> to_array(const redisReply& raw) {
  std::vector<Reply> elements;
  elements.reserve(raw.elements);
  for (std::size_t i = 0; i < raw.elements; ++i) {
    Result<Reply> element = to_reply(*raw.element[i]);
    if (!element) return element;
    elements.push_back(*std::move(element));
  }
  return Reply::array(std::move(elements));
}

Result<Reply> to_reply(const redisReply& raw) {
  switch (raw.type) {
    case REDIS_REPLY_NIL:
      return Reply();
    case REDIS_REPLY_INTEGER:
      return Reply::integer(raw.integer);
    case REDIS_REPLY_STATUS:
      return Reply::status(std::string(raw.str, static_cast<std::size_t>(raw.len)));
    case REDIS_REPLY_ERROR:
      return Reply::error(std::string(raw.str, static_cast<std::size_t>(raw.len)));
    case REDIS_REPLY_STRING:
      return Reply::bulk(std::string(raw.str, static_cast<std::size_t>(raw.len)));
    case REDIS_REPLY_ARRAY:
      return to_array(raw);
    default:  // types of RESP3, which is never asked for
      return fail(ErrorCode::kStoreUnavailable, fmt::format("Redis sent a reply of the unknown type {}", raw.type),
                  "redis.read");
  }
}

}  // namespace

void ReplyReader::Free::operator()(redisReader* reader) const {
  redisReaderFree(reader);
}

ReplyReader::ReplyReader(std::size_t reply_bytes_max)
    : reader_(redisReaderCreateWithFunctions(bounded_functions())), reply_bytes_max_(reply_bytes_max) {
  CHECK(reader_ != nullptr);
}

Status ReplyReader::feed(std::string_view bytes) {
  unread_bytes_ += bytes.size();
  if (unread_bytes_ > reply_bytes_max_) {
    return fail(ErrorCode::kStoreUnavailable, fmt::format("Redis sent a reply of more than {} bytes", reply_bytes_max_),
                "redis.read");
  }
  if (redisReaderFeed(reader_.get(), bytes.data(), bytes.size()) == REDIS_OK) return {};
  return fail(ErrorCode::kStoreUnavailable, std::string("cannot read from Redis: ") + reader_->errstr, "redis.read");
}

Result<std::optional<Reply>> ReplyReader::next() {
  void* raw = nullptr;
  if (redisReaderGetReply(reader_.get(), &raw) != REDIS_OK) {
    // That is how create_bounded_array() refuses.
    if (reader_->err == REDIS_ERR_OOM) {
      return fail(
          ErrorCode::kStoreUnavailable,
          fmt::format("Redis announced more than {} elements, or nested deeper than {}", kElementsMax, kDepthMax),
          "redis.read");
    }
    return fail(ErrorCode::kStoreUnavailable,
                fmt::format("the peer is not Redis, or sent an invalid reply: {}", reader_->errstr), "redis.read");
  }
  if (raw == nullptr) return std::nullopt;
  const std::unique_ptr<redisReply, FreeReply> owner(static_cast<redisReply*>(raw));
  unread_bytes_ = reader_->len - reader_->pos;
  return to_reply(*owner);
}

bool ReplyReader::has_more() const {
  return unread_bytes_ != 0;
}

}  // namespace drover::redis
