#include "core/question.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/json.h"
#include "base/json_schema.h"
#include "base/planted_bug.h"
#include "base/sha256.h"
#include "base/text.h"
#include "base/try.h"
#include "core/names.h"
#include "drover/task_queue.h"

namespace drover {
namespace {

constexpr Names<kQuestionStateCount> kQuestionStates{"open", "answered", "expired", "withdrawn"};
constexpr Names<2> kAskedOf{"human", "spawner"};
constexpr std::string_view kByExpiry = "expiry";
constexpr std::size_t kKeyDigits = 32;  // of the hash of a text

std::unexpected<Error> bad(std::string message) {
  return fail(ErrorCode::kInvalidArgument, std::move(message));
}

Status check_text(std::string_view field, std::string_view text, std::size_t bytes_max) {
  if (text.empty()) return bad(fmt::format("{}: expected a text", field));
  if (text.size() > bytes_max) {
    return bad(fmt::format("{}: has {} bytes; at most {} are taken", field, text.size(), bytes_max));
  }
  if (!is_utf8(text)) return bad(fmt::format("{}: is not UTF-8", field));
  return {};
}

Status check_options(const QuestionSpec& spec) {
  if (spec.options.size() > kQuestionOptionsMax) {
    return bad(fmt::format("options: at most {}, not {}", kQuestionOptionsMax, spec.options.size()));
  }
  for (auto option = spec.options.begin(); option != spec.options.end(); ++option) {
    TRY(check_text("options", *option, kQuestionOptionBytesMax));
    if (std::find(spec.options.begin(), option, *option) != option) {
      return bad(fmt::format("options: {} is given twice", quoted_excerpt(*option)));
    }
  }
  if (!spec.options.empty() && spec.schema) return bad("options and schema: give one of them");
  return {};
}

Result<JsonText> small_json(std::string_view field, const JsonText& text) {
  auto compact = json::compact(text);
  if (!compact) return bad(fmt::format("{}: {}", field, compact.error().message));
  if (compact->size() > kAnswerBytesMax) {
    return bad(fmt::format("{}: has {} bytes; at most {} are taken", field, compact->size(), kAnswerBytesMax));
  }
  return compact;
}

Result<json::Schema> compiled(const JsonText& text) {
  const auto document = TRY(json::parse(text));
  auto schema = json::Schema::compile(document);
  if (!schema) return bad(fmt::format("schema: {}", schema.error().what));
  return *std::move(schema);
}

Status check_against(const std::vector<std::string>& options, const std::optional<JsonText>& schema,
                     const JsonText& value) {
  if (!options.empty()) {
    const auto is_it = [&](const std::string& option) { return json::quote(option) == value; };
    const auto parsed = TRY(json::parse(value));
    const std::string* word = parsed.as_string();
    if (std::ranges::any_of(options, is_it)) return {};
    if (word != nullptr && std::ranges::find(options, *word) != options.end()) return {};
    return bad(fmt::format("the answer must be one of: {}", fmt::join(options, ", ")));
  }
  if (!schema) return {};
  const auto checker = TRY(compiled(*schema));
  const auto parsed = TRY(json::parse(value));
  if (const auto error = checker.validate(parsed)) {
    return bad(fmt::format("the answer does not match the question's schema: {}", json::to_string(*error)));
  }
  return {};
}

std::unexpected<Error> already_closed(const Question& question) {
  const std::string id = question.id.to_string();
  switch (question.state) {
    case QuestionState::kOpen:
      break;
    case QuestionState::kAnswered:
      return fail(
          ErrorCode::kWrongState,
          fmt::format("question {} was answered before, by {}: {}", id, question.answered_by.value_or("somebody"),
                      quoted_excerpt(answer_to_word(question.answer.value_or("null")))));
    case QuestionState::kExpired:
      return fail(ErrorCode::kWrongState, fmt::format("question {} has expired", id));
    case QuestionState::kWithdrawn:
      return fail(ErrorCode::kWrongState,
                  fmt::format("question {} was withdrawn{}{}", id, question.why.empty() ? "" : ": ", question.why));
  }
  return fail(ErrorCode::kInternal, fmt::format("question {} is open", id));
}

Question begun(const QuestionId& id, QuestionSpec spec, Time now) {
  Question question{.id = id};
  question.key = spec.key.value_or("");
  question.text = std::move(spec.text);
  question.options = std::move(spec.options);
  question.schema = std::move(spec.schema);
  question.default_answer = std::move(spec.default_answer);
  question.asked_at = now;
  question.expires_at = now + spec.expires.value_or(kQuestionExpires);
  return question;
}

// From now on people are asked.
void hand_over(Question& question) {
  question.to = AskedOf::kHuman;
  question.spawner.reset();
  question.patient_until.reset();
}

}  // namespace

std::optional<QuestionId> QuestionId::parse(std::string_view text) {
  const auto uuid = TaskId::parse(text);
  if (!uuid) return std::nullopt;
  return QuestionId(uuid->bytes());
}

std::string_view name_of(QuestionState state) {
  return name_in(kQuestionStates, state);
}
std::optional<QuestionState> parse_question_state(std::string_view name) {
  return value_in<QuestionState>(kQuestionStates, name);
}
std::string_view name_of(AskedOf to) {
  return name_in(kAskedOf, to);
}
std::optional<AskedOf> parse_asked_of(std::string_view name) {
  return value_in<AskedOf>(kAskedOf, name);
}

JsonText answer_from_word(const Question& question, std::string_view word) {
  if (question.schema) {
    if (auto compact = json::compact(std::string(word))) return *std::move(compact);
  }
  return json::quote(word);
}

std::string answer_to_word(const JsonText& answer) {
  const auto parsed = json::parse(answer);
  const std::string* word = parsed ? parsed->as_string() : nullptr;
  return word != nullptr ? *word : answer;
}

std::optional<Time> wake_at(const Question& question) {
  if (question.state != QuestionState::kOpen) return std::nullopt;
  if (!question.patient_until) return question.expires_at;
  return std::min(*question.patient_until, question.expires_at.value_or(*question.patient_until));
}

Result<QuestionSpec> checked_question(QuestionSpec spec) {
  TRY(check_text("text", spec.text, kQuestionTextBytesMax));
  TRY(check_options(spec));
  if (spec.key) {
    TRY(check_text("key", *spec.key, kQuestionKeyBytesMax));
  } else {
    spec.key = sha256_hex(spec.text).substr(0, kKeyDigits);
  }
  if (spec.expires && (*spec.expires <= Millis{0} || *spec.expires > kQuestionExpiresMax)) {
    return bad("expires: expected a duration of more than 0 and at most 30 days");
  }
  if (spec.schema) {
    spec.schema = TRY(small_json("schema", *spec.schema));
    TRY(compiled(*spec.schema));
  }
  if (spec.default_answer) {
    spec.default_answer = TRY(small_json("default", *spec.default_answer));
    if (*spec.default_answer == "null") return bad("default: expected a value, not null");
    if (auto status = check_against(spec.options, spec.schema, *spec.default_answer); !status) {
      return bad("default: " + status.error().message);
    }
  }
  return spec;
}

const QuestionRecord* find_asked(const TaskRecord& asker, std::span<const QuestionRecord> asked, std::string_view key) {
  const auto found = std::ranges::find_if(asked, [&](const QuestionRecord& one) {
    return one.question.key == key && one.question.generation >= asker.first_generation;
  });
  return found != asked.end() ? &*found : nullptr;
}

Status check_may_ask(const TaskRecord& asker, std::span<const QuestionRecord> asked) {
  const auto count = std::ranges::count_if(
      asked, [&](const QuestionRecord& one) { return one.question.generation >= asker.first_generation; });
  if (count < kQuestionsOfTaskMax) return {};
  return fail(ErrorCode::kLimitExceeded,
              fmt::format("task {} has asked {} questions; more are not taken", asker.task.id.to_string(), count));
}

Question new_question(const QuestionId& id, const TaskRecord& asker, QuestionSpec spec, SpawnerIs spawner, Time now) {
  const bool asks_spawner = spec.to == AskedOf::kSpawner && asker.task.parent_id && spawner == SpawnerIs::kRunning;
  Question question = begun(id, std::move(spec), now);
  question.task_id = asker.task.id;
  question.owner = asker.task.owner;
  question.generation = asker.task.generation;
  question.run = asker.task.run;
  if (asks_spawner) {
    question.to = AskedOf::kSpawner;
    question.spawner = asker.task.parent_id;
    question.patient_until = now + kSpawnerPatience;
  }
  return question;
}

Question new_gate_question(const QuestionId& id, std::string gate, std::string owner, QuestionSpec spec, Time now) {
  Question question = begun(id, std::move(spec), now);
  question.gate = std::move(gate);
  question.owner = std::move(owner);
  return question;
}

Result<JsonText> checked_answer(const Question& question, const JsonText& value) {
  auto compact = TRY(small_json("answer", value));
  TRY(check_against(question.options, question.schema, compact));
  return compact;
}

Status check_spawner_may_answer(const Question& question, const TaskId& spawner) {
  if (question.to == AskedOf::kSpawner && question.spawner == spawner && question.task_id != spawner) return {};
  return fail(ErrorCode::kForbidden,
              fmt::format("question {} is not for task {} to answer", question.id.to_string(), spawner.to_string()));
}

Result<Question> answered(Question question, JsonText value, std::string by, Time now) {
  const bool may_overwrite = planted(PlantedBug::kAnswersOverwrite) && question.state == QuestionState::kAnswered;
  if (question.state != QuestionState::kOpen && !may_overwrite) return already_closed(question);
  question.state = QuestionState::kAnswered;
  question.answer = std::move(value);
  question.answered_by = std::move(by);
  question.closed_at = now;
  return question;
}

Result<Question> withdrawn(Question question, std::string by, std::string why, Time now) {
  if (question.state != QuestionState::kOpen) return already_closed(question);
  question.state = QuestionState::kWithdrawn;
  question.answered_by = std::move(by);
  question.why = std::move(why);
  question.closed_at = now;
  return question;
}

std::optional<Question> after_its_time(Question question, Time now) {
  const auto due = wake_at(question);
  if (!due || *due > now) return std::nullopt;
  if (!question.expires_at || *question.expires_at > now) {
    hand_over(question);
    return question;
  }
  question.state = QuestionState::kExpired;
  if (question.default_answer) {
    question.state = QuestionState::kAnswered;
    question.answer = question.default_answer;
  }
  question.answered_by = std::string(kByExpiry);
  question.closed_at = now;
  return question;
}

bool is_unanswered(const Question& question) {
  return question.state == QuestionState::kExpired;
}

std::string in_words(const Question& question, Time now) {
  using std::chrono::floor;
  const Millis age = std::max(Millis{0}, now - question.asked_at);
  const Millis shown = age < std::chrono::minutes(1) ? Millis{floor<std::chrono::seconds>(age)}
                                                     : Millis{floor<std::chrono::minutes>(age)};
  return fmt::format("question {}, asked {} ago: {}", question.id.to_string(), format_duration(shown),
                     quoted_excerpt(question.text));
}

std::string event_name(const Question& before, const Question& after) {
  if (after.state == QuestionState::kOpen) {
    return before.to == AskedOf::kSpawner && after.to == AskedOf::kHuman ? "question.handed_over" : "question.asked";
  }
  if (after.answered_by == kByExpiry) return "question.expired";
  return after.state == QuestionState::kAnswered ? "question.answered" : "question.withdrawn";
}

JsonText event_data(const Question& question) {
  json::Writer writer;
  writer.begin_object().key("question_id").string(question.id.to_string());
  if (question.gate) writer.key("gate").string(*question.gate);
  writer.key("to").string(name_of(question.to)).key("state").string(name_of(question.state));
  if (question.state == QuestionState::kOpen) {
    writer.key("text").string(to_utf8(std::string_view(question.text).substr(0, kExcerptBytes)));
  }
  if (question.answered_by) writer.key("by").string(*question.answered_by);
  if (question.closed_at) writer.key("waited_ms").number((*question.closed_at - question.asked_at).count());
  writer.end_object();
  return std::move(writer).take();
}

}  // namespace drover
