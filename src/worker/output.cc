#include "worker/output.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <utility>

#include "base/text.h"
#include "core/log_remark.h"

namespace drover {
namespace {

// Half of the largest cap of a store, and of the tail a little more: it is dropped in pieces.
constexpr std::size_t kHeadBytesMax = 512 * 1024;
constexpr std::size_t kTailBytesMax = 512 * 1024 + 32 * 1024;
// Small reads of one stream are joined up to this size.
constexpr std::size_t kChunkBytes = 16 * 1024;
constexpr std::size_t kCharacterBytesMax = 4;

// How many bytes at the end may be the beginning of a character.
std::size_t cut_off_bytes(std::string_view text) {
  for (std::size_t length = 1; length < kCharacterBytesMax && length <= text.size(); ++length) {
    const std::string_view end = text.substr(text.size() - length);
    const auto first = static_cast<unsigned char>(end.front());
    if (first < 0x80) return 0;
    if (first >= 0xC0) {
      const Utf8Step step = utf8_step(end);
      return !step.valid && step.bytes == length ? length : 0;
    }
  }
  return 0;
}

template <class Chunks>
void join_or_push(Chunks& chunks, LogStream stream, std::string text) {
  if (stream != LogStream::kDrover && !chunks.empty() && chunks.back().stream == stream &&
      chunks.back().text.size() < kChunkBytes) {
    chunks.back().text += text;
  } else {
    chunks.push_back({stream, std::move(text)});
  }
}

}  // namespace

void OutputFile::write(std::string_view bytes) {
  if (given_up_ || bytes.empty()) return;
  if (!fd_.is_open()) {
    fd_ = UniqueFd(::open(path_.c_str(), O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR));
    if (!fd_.is_open()) return give_up(fmt::format("{} cannot be opened: {}", path_, std::strerror(errno)));
  }
  const auto room = static_cast<std::size_t>(bytes_max_ - bytes_);
  std::string_view rest = bytes.substr(0, room);
  while (!rest.empty()) {
    const ssize_t size = ::write(fd_.get(), rest.data(), rest.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return give_up(fmt::format("{} cannot be written: {}", path_, std::strerror(errno)));
    bytes_ += size;
    rest.remove_prefix(static_cast<std::size_t>(size));
  }
  if (bytes.size() > room) give_up(fmt::format("{} was cut at {} bytes", path_, bytes_max_));
}

void OutputFile::give_up(std::string why) {
  given_up_ = true;
  complaint_ = std::move(why);
  fd_.reset();
}

std::string OutputFile::take_complaint() {
  return std::exchange(complaint_, {});
}

void LogBuffer::add(LogStream stream, std::string_view bytes) {
  std::string& kept = cut_off_[static_cast<std::size_t>(stream)];
  std::string text = std::exchange(kept, {});
  text.append(bytes);
  const std::size_t cut = cut_off_bytes(text);
  kept = text.substr(text.size() - cut);
  text.resize(text.size() - cut);
  // In pieces, so that little is lost where the head ends and where the tail begins.
  for (std::string_view rest = text; !rest.empty();) {
    std::string_view piece = rest.substr(0, kChunkBytes);
    if (piece.size() < rest.size()) piece.remove_suffix(cut_off_bytes(piece));
    append(stream, std::string(piece));
    rest.remove_prefix(piece.size());
  }
}

void LogBuffer::add_remark(std::string text) {
  append(LogStream::kDrover, std::move(text) + "\n");
}

void LogBuffer::append(LogStream stream, std::string text) {
  if (tail_.empty() && head_bytes_ + text.size() <= kHeadBytesMax) {
    head_bytes_ += text.size();
    return join_or_push(head_, stream, std::move(text));
  }
  tail_bytes_ += text.size();
  join_or_push(tail_, stream, std::move(text));
  while (tail_bytes_ > kTailBytesMax && tail_.size() > 1) {
    tail_bytes_ -= tail_.front().text.size();
    left_out_bytes_ += output_bytes(tail_.front().stream, tail_.front().text);
    tail_.pop_front();
  }
}

void LogBuffer::put_back(std::vector<LogChunk> chunks) {
  std::ranges::move(take_raw(), std::back_inserter(chunks));
  for (LogChunk& chunk : chunks) append(chunk.stream, std::move(chunk.text));
}

void LogBuffer::finish() {
  for (const LogStream stream : {LogStream::kOut, LogStream::kErr}) {
    std::string rest = std::exchange(cut_off_[static_cast<std::size_t>(stream)], {});
    if (!rest.empty()) append(stream, std::move(rest));
  }
}

std::vector<LogChunk> LogBuffer::take_raw() {
  std::vector<LogChunk> chunks = std::exchange(head_, {});
  if (left_out_bytes_ > 0) chunks.push_back({LogStream::kDrover, left_out_remark(left_out_bytes_)});
  std::ranges::move(tail_, std::back_inserter(chunks));
  tail_.clear();
  head_bytes_ = tail_bytes_ = 0;
  left_out_bytes_ = 0;
  return chunks;
}

std::vector<LogChunk> LogBuffer::take() {
  std::vector<LogChunk> chunks = take_raw();
  // Only now, since most of a flood is never taken.
  for (LogChunk& chunk : chunks) chunk.text = to_utf8(chunk.text);
  return chunks;
}

}  // namespace drover
