#include "core/question_json.h"

#include "base/json.h"

namespace drover {
namespace {

void put(json::Writer& out, std::string_view key, const std::optional<std::string>& text) {
  out.key(key);
  text ? out.string(*text) : out.null();
}
void put(json::Writer& out, std::string_view key, const std::optional<TaskId>& id) {
  put(out, key, id ? std::optional(id->to_string()) : std::nullopt);
}
void put(json::Writer& out, std::string_view key, const std::optional<Time>& time) {
  put(out, key, time ? std::optional(format_time(*time)) : std::nullopt);
}
void put_raw(json::Writer& out, std::string_view key, const std::optional<JsonText>& text) {
  out.key(key);
  text ? out.raw(*text) : out.null();
}
void put_list(json::Writer& out, std::string_view key, const std::vector<std::string>& words) {
  out.key(key).begin_array();
  for (const std::string& word : words) out.string(word);
  out.end_array();
}

Status bad_word(std::string_view expected) {
  return fail(ErrorCode::kInvalidArgument, "expected " + std::string(expected));
}

template <class Enum, class Parse>
void get_word(json::Reader& in, std::string_view name, Enum& out, Parse parse, std::string_view expected) {
  std::optional<std::string> word;
  in.get(name, word);
  if (!word) return;
  const auto value = parse(*word);
  if (value) {
    out = *value;
  } else {
    in.refuse(std::string(name) + ": " + bad_word(expected).error().message);
  }
}

}  // namespace

JsonText to_json(const Question& question) {
  json::Writer out;
  out.begin_object().key("id").string(question.id.to_string());
  put(out, "task_id", question.task_id);
  put(out, "gate", question.gate);
  out.key("owner").string(question.owner).key("generation").number(question.generation);
  out.key("run").number(question.run).key("key").string(question.key).key("text").string(question.text);
  put_list(out, "options", question.options);
  put_raw(out, "schema", question.schema);
  put_raw(out, "default", question.default_answer);
  out.key("to").string(name_of(question.to));
  put(out, "spawner", question.spawner);
  put(out, "patient_until", question.patient_until);
  out.key("state").string(name_of(question.state)).key("asked_at").string(format_time(question.asked_at));
  put(out, "expires_at", question.expires_at);
  put_raw(out, "answer", question.answer);
  put(out, "answered_by", question.answered_by);
  put(out, "closed_at", question.closed_at);
  out.key("why").string(question.why).end_object();
  return std::move(out).take();
}

JsonText to_json(const QuestionSpec& spec) {
  json::Writer out;
  out.begin_object().key("text").string(spec.text);
  if (!spec.options.empty()) put_list(out, "options", spec.options);
  if (spec.schema) put_raw(out, "schema", spec.schema);
  if (spec.default_answer) put_raw(out, "default", spec.default_answer);
  if (spec.expires) out.key("expires_ms").number(spec.expires->count());
  if (spec.key) put(out, "key", spec.key);
  out.key("to").string(name_of(spec.to)).end_object();
  return std::move(out).take();
}

JsonText to_json(const QuestionPage& page) {
  json::Writer out;
  out.begin_object().key("questions").begin_array();
  for (const Question& question : page.questions) out.raw(to_json(question));
  out.end_array();
  put(out, "cursor", page.cursor);
  out.end_object();
  return std::move(out).take();
}

Status read_json(std::string_view json, QuestionPage& out) {
  json::Reader in(json);
  in.need("questions", out.questions).get("cursor", out.cursor);
  return in.finish();
}

Status read_json(std::string_view json, QuestionId& out) {
  std::string text;
  if (auto status = json::read_json(json, text); !status) return status;
  const auto id = QuestionId::parse(text);
  if (!id) return bad_word("the id of a question");
  out = *id;
  return {};
}

Status read_json(std::string_view json, Question& out) {
  json::Reader in(json);
  in.need("id", out.id).get("task_id", out.task_id).get("gate", out.gate).get("owner", out.owner);
  in.get("generation", out.generation).get("run", out.run).get("key", out.key).need("text", out.text);
  in.get("options", out.options).get_text("schema", out.schema).get_text("default", out.default_answer);
  get_word(in, "to", out.to, parse_asked_of, "human or spawner");
  in.get("spawner", out.spawner).get("patient_until", out.patient_until);
  get_word(in, "state", out.state, parse_question_state, "open, answered, expired or withdrawn");
  in.need("asked_at", out.asked_at).get("expires_at", out.expires_at);
  // An answer may be the value null; a question that nobody answered has none.
  if (out.state == QuestionState::kAnswered) in.get_any_text("answer", out.answer);
  in.get("answered_by", out.answered_by).get("closed_at", out.closed_at).get("why", out.why);
  return in.finish();
}

json::Reader& read_question(json::Reader& in, QuestionSpec& out) {
  std::optional<std::string> expires;
  in.need("text", out.text).get("options", out.options).get_text("schema", out.schema);
  in.get_text("default", out.default_answer).get("expires_ms", out.expires).get("key", out.key);
  in.get("expires", expires);
  get_word(in, "to", out.to, parse_asked_of, "human or spawner");
  if (!expires) return in;
  const auto parsed = parse_duration(*expires);
  if (parsed) {
    out.expires = *parsed;
  } else {
    in.refuse("expires: " + parsed.error().message);
  }
  return in;
}

Status read_json(std::string_view json, QuestionSpec& out) {
  json::Reader in(json);
  return read_question(in, out).finish_strictly();
}

}  // namespace drover
