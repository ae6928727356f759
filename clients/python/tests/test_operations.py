"""Every operation of the REST API is covered by a method, or left out for a reason."""

from __future__ import annotations

import re
import unittest
from typing import Dict

from .support import ROOT, drover
from drover import _calls
from drover._calls import Call

DESCRIPTION = ROOT.parent.parent / "src" / "server" / "openapi.yaml"

LEASE = "0" * 32
COVERED: Dict[str, Call] = {
    "enqueue": _calls.enqueue({"type": "t"}, "k"),
    "listTasks": _calls.list_tasks({}, 10, None),
    "showTask": _calls.show_task("ID"),
    "editTask": _calls.edit_task("ID", {"priority": 1}),
    "waitForTask": _calls.wait_for_task("ID", 25),
    "showParent": _calls.show_parent("ID", "ID"),
    "listRuns": _calls.list_runs("ID"),
    "readLog": _calls.read_log("ID", 0),
    "appendLog": _calls.append_log("ID", LEASE, "x", "stdout"),
    "explainTask": _calls.explain_task("ID"),
    "cancelTask": _calls.cancel_task("ID", None),
    "retryTask": _calls.retry_task("ID", {}),
    "spawn": _calls.spawn("ID", LEASE, [{"type": "t"}], "k"),
    "progress": _calls.progress("ID", LEASE, 1, None),
    "checkpoint": _calls.checkpoint("ID", LEASE, 1),
    "settleMany": _calls.settle_texts(["{}"]),
    "registerWorker": _calls.register_worker({}),
    "unregisterWorker": _calls.unregister_worker("ID", ""),
    "claim": _calls.claim("ID", {}, 25),
    "heartbeat": _calls.heartbeat("ID", [], 30),
    "backlog": _calls.backlog([]),
    "requeueStalled": _calls.requeue_stalled(1),
    "ask": _calls.ask("ID", LEASE, {"text": "?"}),
    "listQuestions": _calls.list_questions({}, 10, None),
    "getQuestion": _calls.show_question("ID", 25),
    "answerQuestion": _calls.answer_question("ID", 1),
    "withdrawQuestion": _calls.withdraw_question("ID", None),
    "listEvents": _calls.events_page(0),
    "lastEvent": _calls.last_event(),
    "waitForChange": _calls.wait_for_change(None, 25),
}

BATCHED = "a worker tells all ends with settleMany, one or many"
OPERATE = "for people who operate a fleet: the command line and the dashboard have it, and programs have Client.call"
DASHBOARD = "for the dashboard, which signs people in and keeps their views"
CONVERSATIONS = "for hosts of agents, which are written in TypeScript; programs in Python have Client.call"
DUMPS = "for `drover export` and `import`"
LEFT_OUT: Dict[str, str] = {
    "answerAsSpawner": "agents answer at the door of their run; a handler whose children ask it has Client.call",
    "askStanding": "for runners of agents, which drover work has; a handler may use Client.call",
    "listBudgets": OPERATE,
    "raiseBudget": OPERATE,
    "listSessions": OPERATE,
    "getSession": OPERATE,
    "resetSession": OPERATE,
    "listConversations": CONVERSATIONS,
    "getConversation": CONVERSATIONS,
    "waitForConversation": CONVERSATIONS,
    "appendItem": CONVERSATIONS,
    "removeItem": CONVERSATIONS,
    "dequeueItems": CONVERSATIONS,
    "consumeItems": CONVERSATIONS,
    "ackBatch": CONVERSATIONS,
    "clearItems": CONVERSATIONS,
    "takeConsumer": CONVERSATIONS,
    "releaseConsumer": CONVERSATIONS,
    "mirrorItems": CONVERSATIONS,
    "dumpConversations": DUMPS,
    "complete": BATCHED,
    "fail": BATCHED,
    "release": BATCHED,
    "confirmCancel": BATCHED,
    "suspend": BATCHED,
    "reportUsage": "for runners of agents, which drover work has; a handler may use Client.call",
    "readTranscript": "what agents said; handlers in Python write none",
    "watch": "WebSocket needs a library; Client.events reads the same frames as server-sent events",
    "openapi": "the description of the API is not a use of it",
    "healthz": OPERATE,
    "readyz": OPERATE,
    "metrics": OPERATE,
    "introduce": OPERATE,
    "deleteTask": OPERATE,
    "previewCancel": OPERATE,
    "escalateTask": OPERATE,
    "listDeadLetters": OPERATE,
    "listWorkers": OPERATE,
    "drainWorker": OPERATE,
    "listGates": OPERATE,
    "setGate": OPERATE,
    "listQueues": OPERATE,
    "stats": OPERATE,
    "stuck": OPERATE,
    "usage": OPERATE,
    "listAlerts": OPERATE,
    "showConfig": OPERATE,
    "applyConfig": OPERATE,
    "listConfigVersions": OPERATE,
    "showConfigVersion": OPERATE,
    "fsck": OPERATE,
    "createToken": OPERATE,
    "listTokens": OPERATE,
    "revokeToken": OPERATE,
    "showStore": OPERATE,
    "acceptRegression": OPERATE,
    "lookAtFleet": OPERATE,
    "startBulk": OPERATE,
    "listBulk": OPERATE,
    "showBulk": OPERATE,
    "stopBulk": OPERATE,
    "listAudit": OPERATE,
    "listAlertHistory": OPERATE,
    "snoozeAlert": OPERATE,
    "statsHistory": OPERATE,
    "readGraph": DASHBOARD,
    "listTaskEvents": "Client.events has a filter by task",
    "listViews": DASHBOARD,
    "saveView": DASHBOARD,
    "deleteView": DASHBOARD,
    "createSigninCode": DASHBOARD,
    "createWsTicket": DASHBOARD,
    "listSignins": DASHBOARD,
    "signIn": DASHBOARD,
    "signOut": DASHBOARD,
    "me": DASHBOARD,
    "mcp": "for agents, which bring their own client",
    "dumpHead": DUMPS,
    "dumpIds": DUMPS,
    "dumpTasks": DUMPS,
    "dumpEvents": DUMPS,
    "beginImport": DUMPS,
    "importPiece": DUMPS,
    "finishImport": DUMPS,
}


class Operations(unittest.TestCase):
    def test_every_operation_is_covered_or_left_out(self) -> None:
        described = set(re.findall(r"^ +operationId: (\w+)$", DESCRIPTION.read_text(), re.MULTILINE))
        self.assertGreater(len(described), 50)
        self.assertEqual(set(), set(COVERED) & set(LEFT_OUT))
        self.assertEqual(set(), described - set(COVERED) - set(LEFT_OUT), "a new operation needs a method, or a reason here")
        self.assertEqual(set(), set(COVERED) - described)

    def test_covered_ones_are_called_as_described(self) -> None:
        for name, call in COVERED.items():
            method, path = drover.wire.OPERATIONS[name]
            target = call.target.split("?")[0]
            self.assertEqual((method, path.replace("{id}", "ID").replace("{parent}", "ID")), (call.method, target), name)


if __name__ == "__main__":
    unittest.main()
