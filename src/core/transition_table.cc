#include <cstddef>

#include "core/names.h"
#include "core/transition.h"

namespace drover {
namespace {

using enum Rule;

// In the order of Trigger's alternatives.
constexpr Names<kTriggerCount> kTriggerNames{
    "parent_done", "parent_ended",    "due",        "claim",  "report",   "complete", "fail",  "release",
    "suspend",     "confirm_cancel",  "lease_lost", "cancel", "deadline", "edit",     "retry", "parent_retried",
    "ask",         "question_closed", "escalate",   "delete"};

// Rows in the order of Trigger's alternatives, columns in that of TaskState.
// clang-format off
constexpr TransitionTable kTable{{
    //                   blocked        scheduled      pending        running         stalled        completed  failed    cancelled
    /* ParentDone */    {kMeetParent,   kRefuse,       kRefuse,       kRefuse,        kRefuse,       kRefuse,   kRefuse,  kRefuse},
    /* ParentEnded */   {kEndByParent,  kRefuse,       kRefuse,       kRefuse,        kRefuse,       kRefuse,   kRefuse,  kRefuse},
    /* Due */           {kRefuse,       kMakePending,  kRefuse,       kRefuse,        kRefuse,       kRefuse,   kRefuse,  kRefuse},
    /* Claim */         {kRefuse,       kRefuse,       kStart,        kRefuse,        kStart,        kRefuse,   kRefuse,  kRefuse},
    /* Report */        {kRefuse,       kRefuse,       kRefuse,       kReport,        kRefuse,       kRefuse,   kRefuse,  kRefuse},
    /* Complete */      {kRefuse,       kRefuse,       kRefuse,       kComplete,      kRefuse,       kRefuse,   kRefuse,  kRefuse},
    /* Fail */          {kRefuse,       kRefuse,       kRefuse,       kFail,          kRefuse,       kRefuse,   kRefuse,  kRefuse},
    /* Release */       {kRefuse,       kRefuse,       kRefuse,       kGiveBack,      kRefuse,       kRefuse,   kRefuse,  kRefuse},
    /* Suspend */       {kRefuse,       kRefuse,       kRefuse,       kSuspend,       kRefuse,       kRefuse,   kRefuse,  kRefuse},
    /* ConfirmCancel */ {kRefuse,       kRefuse,       kRefuse,       kConfirmCancel, kRefuse,       kRefuse,   kRefuse,  kRefuse},
    /* LeaseLost */     {kRefuse,       kRefuse,       kRefuse,       kStall,         kRefuse,       kRefuse,   kRefuse,  kRefuse},
    /* Cancel */        {kCancelNow,    kCancelNow,    kCancelNow,    kRequestCancel, kCancelNow,    kRefuse,   kRefuse,  kRefuse},
    /* Deadline */      {kMissDeadline, kMissDeadline, kMissDeadline, kMissDeadline,  kMissDeadline, kRefuse,   kRefuse,  kRefuse},
    /* Edit */          {kEdit,         kEdit,         kEdit,         kRefuse,        kEdit,         kRefuse,   kRefuse,  kRefuse},
    /* Retry */         {kRefuse,       kRefuse,       kRefuse,       kRefuse,        kRefuse,       kRefuse,   kReopen,  kReopen},
    /* ParentRetried */ {kRevive,       kRefuse,       kRefuse,       kRefuse,        kRefuse,       kRefuse,   kRevive,  kRevive},
    /* Ask */           {kRefuse,       kRefuse,       kRefuse,       kAsk,           kRefuse,       kRefuse,   kRefuse,  kRefuse},
    /* QuestionClosed */{kCloseQuestion,kCloseQuestion,kCloseQuestion,kCloseQuestion, kCloseQuestion,kRefuse,   kRefuse,  kRefuse},
    /* Escalate */      {kRefuse,       kRefuse,       kRefuse,       kRefuse,        kRefuse,       kRefuse,   kEscalate,kRefuse},
    /* Delete */        {kRefuse,       kRefuse,       kRefuse,       kRefuse,        kRefuse,       kDelete,   kDelete,  kDelete},
}};
// clang-format on

}  // namespace

std::string_view name_of(const Trigger& trigger) {
  return kTriggerNames[trigger.index()];
}

const TransitionTable& transition_table() {
  return kTable;
}

}  // namespace drover
