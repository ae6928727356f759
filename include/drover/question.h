// Questions: a running task asks a person, or the task that spawned it, and need not hold a slot until the answer.
//
// A question belongs to a task (or to a gate, which only the engine asks for) and ends once: answered, expired or
// withdrawn. While a suspended task has an open question, that counts as one more parent that is not done.
// docs/internals/questions.md.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "drover/error.h"
#include "drover/ids.h"
#include "drover/task.h"
#include "drover/time.h"

namespace drover {

// A UUIDv7: questions sort by the time at which they were asked.
class QuestionId {
 public:
  QuestionId() = default;
  explicit QuestionId(const TaskId::Bytes& bytes) : uuid_(bytes) {}
  [[nodiscard]] static std::optional<QuestionId> parse(std::string_view text);

  [[nodiscard]] const TaskId::Bytes& bytes() const { return uuid_.bytes(); }
  [[nodiscard]] std::string to_string() const { return uuid_.to_string(); }
  auto operator<=>(const QuestionId&) const = default;

 private:
  TaskId uuid_;
};

enum class QuestionState : std::uint8_t { kOpen, kAnswered, kExpired, kWithdrawn };
inline constexpr int kQuestionStateCount = 4;
[[nodiscard]] std::string_view name_of(QuestionState state);  // "open", "answered", "expired", "withdrawn"
[[nodiscard]] std::optional<QuestionState> parse_question_state(std::string_view name);

// Who is asked.
enum class AskedOf : std::uint8_t { kHuman, kSpawner };
[[nodiscard]] std::string_view name_of(AskedOf to);  // "human", "spawner"
[[nodiscard]] std::optional<AskedOf> parse_asked_of(std::string_view name);

struct QuestionSpec {
  std::string text;                    // UTF-8, at most kQuestionTextBytesMax
  std::vector<std::string> options{};  // the answer is one of these; not together with schema
  std::optional<JsonText> schema{};    // a JSON Schema that the answer must match
  std::optional<JsonText> default_answer{};
  std::optional<Millis> expires{};  // from now; unset: kQuestionExpires
  AskedOf to = AskedOf::kHuman;
  std::optional<std::string> key{};  // names the question within its task; unset: a hash of the text
};
inline constexpr std::size_t kQuestionTextBytesMax = 16 * 1'024;
inline constexpr std::size_t kQuestionOptionsMax = 50;
inline constexpr std::size_t kQuestionOptionBytesMax = 1'024;
inline constexpr std::size_t kQuestionKeyBytesMax = 256;
inline constexpr std::size_t kAnswerBytesMax = 64 * 1'024;  // of an answer, a default and a schema
inline constexpr int kQuestionsOfTaskMax = 100;             // in all, since an operator's retry began the task
inline constexpr Millis kQuestionExpires{7LL * 24 * 3'600'000};
inline constexpr Millis kQuestionExpiresMax{30LL * 24 * 3'600'000};
// A spawner that has not answered by then is replaced by people.
inline constexpr Millis kSpawnerPatience{120'000};

struct Question {
  QuestionId id;
  std::optional<TaskId> task_id{};    // that asks; none: a gate's question
  std::optional<std::string> gate{};  // that it is about, if no task asks
  std::string owner{};                // of the task; empty: everybody's
  int generation = 0;                 // of the task, when it asked
  int run = 0;
  std::string key{};
  std::string text{};
  std::vector<std::string> options{};
  std::optional<JsonText> schema{};
  std::optional<JsonText> default_answer{};
  AskedOf to = AskedOf::kHuman;
  std::optional<TaskId> spawner{};      // whose answer is awaited, while to is kSpawner
  std::optional<Time> patient_until{};  // then people are asked instead of the spawner
  QuestionState state = QuestionState::kOpen;
  Time asked_at{};
  std::optional<Time> expires_at{};
  std::optional<JsonText> answer{};
  std::optional<std::string> answered_by{};  // "expiry": the default was used; also who withdrew it
  std::optional<Time> closed_at{};
  std::string why{};  // it was withdrawn

  bool operator==(const Question&) const = default;
};

struct QuestionFilter {
  std::optional<QuestionState> state{};
  std::optional<std::string> owner{};
  std::optional<TaskId> task_id{};
  std::optional<AskedOf> to{};
  std::optional<TaskId> spawner{};  // those that wait for this task's answer

  bool operator==(const QuestionFilter&) const = default;
};

struct QuestionPage {
  std::vector<Question> questions{};  // newest first
  std::optional<std::string> cursor{};
};

struct AnswerOrder {
  JsonText value;
  std::string by{};
  // Set: the spawner answers, through its own door. Else a person does.
  std::optional<Lease> spawner{};
};

// A word for people becomes an answer to this question: JSON if it has a schema and the word is JSON, else a string.
[[nodiscard]] JsonText answer_from_word(const Question& question, std::string_view word);
// The other way, for terminals and prompts: a string without its quotes, anything else as JSON.
[[nodiscard]] std::string answer_to_word(const JsonText& answer);

}  // namespace drover
