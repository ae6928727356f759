// A step: one record's way from one committed state to the next. The rules make them, the stores apply them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/budget.h"
#include "core/gate.h"
#include "core/ledger.h"
#include "core/question.h"
#include "core/task_record.h"

namespace drover {

// What a step adds to the event log; the store fills in the rest from the record.
struct EventDraft {
  std::string name;
  JsonText data = "{}";

  bool operator==(const EventDraft&) const = default;
};

// How the current run of a record ended; closes its entry in the history of runs.
struct RunEnd {
  std::string worker_id;  // whose run it was
  Time ended_at{};
  std::string outcome;
  std::optional<TaskError> error;
  std::optional<int> exit_code;
  std::optional<std::string> note;
  std::optional<JsonText> usage{};
  std::optional<JsonText> change{};
  std::optional<JsonText> evidence{};
  std::optional<RunSettlement> settlement{};  // by which call its worker ended it; none if it had no say
  // Its worker had no say, and its agent may live on until its lease would have run out: no other run may start before.
  bool revoked = false;

  bool operator==(const RunEnd&) const = default;
};

struct Step {
  enum class Guard : std::uint8_t {
    kRevision,          // the record is still at expected_revision
    kRevisionAndBeats,  // and its lease has not been renewed since it was read
  };
  enum class ResultWrite : std::uint8_t { kKeep, kReplace };   // whether next.task.result replaces the stored one
  enum class PayloadWrite : std::uint8_t { kKeep, kReplace };  // whether next.task.payload does
  enum class TagsWrite : std::uint8_t { kKeep, kReplace };     // whether next.task.tags do
  enum class ParentsWrite : std::uint8_t { kKeep, kReplace };  // whether next.task.depends_on does
  enum class Fate : std::uint8_t { kStays, kGoes };            // kGoes: the finished task is deleted, but its events

  TaskRecord next;                     // its revision is set by the store
  std::int64_t expected_revision = 0;  // 0: a new task; it must not exist
  std::int64_t expected_beats = 0;     // the record's lease_beats when it was read; looked at by kRevisionAndBeats
  Guard guard = Guard::kRevision;
  ResultWrite result = ResultWrite::kKeep;
  PayloadWrite payload = PayloadWrite::kKeep;
  TagsWrite tags = TagsWrite::kKeep;
  ParentsWrite parents = ParentsWrite::kKeep;
  Fate fate = Fate::kStays;
  std::vector<EventDraft> events;
  std::optional<RunEnd> run_end;
  std::vector<LedgerEntry> ledger{};   // what it books
  int answer_waits = 0;                // by how much it changes the number of tasks that wait for answers
  std::optional<SpendChange> spend{};  // what the budgets of its gates do; a run that ends without it has spent nothing

  // Whether it replaces a part of the body: some stores write all of it then.
  [[nodiscard]] bool writes_body() const {
    return payload == PayloadWrite::kReplace || tags == TagsWrite::kReplace || parents == ParentsWrite::kReplace;
  }
  bool operator==(const Step&) const = default;
};

// A gate's way from one committed state to the next; or only the check that it has not moved.
struct GateStep {
  std::string name;
  std::int64_t expected_revision = 0;  // 0: it is not stored
  std::optional<GateRecord> next;      // its revision is set by the store; one that is_default() is taken away
  std::vector<EventDraft> events;      // of no task

  bool operator==(const GateStep&) const = default;
};

// A question's way from one committed state to the next. What its task makes of it is a step of the same group.
struct QuestionStep {
  Question next;
  std::int64_t expected_revision = 0;  // 0: a new one
  std::vector<EventDraft> events{};    // of no task; those of a task's question are its task's

  bool operator==(const QuestionStep&) const = default;
};

}  // namespace drover
