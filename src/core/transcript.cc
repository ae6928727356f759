#include "core/transcript.h"

#include <utility>

#include "base/json.h"

namespace drover {
namespace {

// What is not an object with a kind is shown as it is.
JsonText event_of(std::string_view line) {
  const auto value = json::parse(line);
  const json::Value* kind = value ? value->find("kind") : nullptr;
  if (kind != nullptr && kind->as_string() != nullptr) return std::string(line);
  json::Writer out;
  out.begin_object().key("kind").string("raw").key("text").string(line).end_object();
  return std::move(out).take();
}

}  // namespace

std::vector<TranscriptLine> TranscriptLines::feed(const LogRecord& record) {
  std::vector<TranscriptLine> lines;
  const auto complete = [&](std::string_view text) {
    if (!text.empty()) lines.push_back({record.seq, run_, record.at, event_of(text)});
  };
  const bool goes_on = record.run == run_ && record.left_out_before == 0;
  if (!goes_on) complete(std::exchange(begun_, {}));
  run_ = record.run;
  if (record.stream == LogStream::kTranscript) {
    std::string_view rest = record.text;
    for (std::size_t end = rest.find('\n'); end != std::string_view::npos; end = rest.find('\n')) {
      complete(std::exchange(begun_, {}).append(rest.substr(0, end)));
      rest.remove_prefix(end + 1);
    }
    begun_.append(rest);
  }
  if (begun_.empty()) complete_until_ = record.seq;
  return lines;
}

std::string to_json(const TranscriptLine& line) {
  json::Writer out;
  out.begin_object().key("seq").number(line.seq).key("run").number(line.run).key("at").string(format_time(line.at));
  out.key("event").raw(line.event).end_object();
  return std::move(out).take();
}

}  // namespace drover
