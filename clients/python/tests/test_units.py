"""What needs no server: JSON, HTTP, addresses, retries, types."""

from __future__ import annotations

import ast
import json
import pickle
import random
import re
import sys
import unittest
from datetime import datetime, timedelta, timezone
from decimal import Decimal

from .support import ROOT, drover
from drover import _calls, _json
from drover._address import parse_address, parse_addresses
from drover._http import AnswerReader, BadAnswer
from drover._retry import Attempts, Effect, Trouble, check_answer
from drover._settings import Seen
from drover.events import EventCursor


class Json(unittest.TestCase):
    def test_numbers_keep_their_value(self) -> None:
        for text in ["12345678901234567890", "1.5", "-0.25", "1e-300", "1E+400", "0.1", "9" * 5000]:
            value = _json.loads_float(text)
            self.assertEqual(Decimal(text), Decimal(str(value)) if not isinstance(value, int) else value, text[:30])

    def test_decimals_keep_their_digits(self) -> None:
        text = '{"a":[1.10,12345678901234567890.000,{"b":1E+400}],"c":"x"}'
        self.assertEqual(text, _json.encode_text(_json.loads_decimal(text)))

    def test_what_json_does_not_have_is_refused(self) -> None:
        cycle: list = []
        cycle.append(cycle)
        careful: list = [Decimal(1)]
        careful.append(careful)
        deep: list = []
        for _ in range(100_000):
            deep = [deep]
        for value in [float("nan"), float("inf"), Decimal("NaN"), cycle, careful, deep, {1, 2}, b"x", object(), {(1, 2): 3}, "\ud800"]:
            with self.assertRaises(drover.Invalid):
                _json.encode(value)

    def test_both_encoders_agree(self) -> None:
        value = {"a": [1, 2.5, None, True, "ü\n", {}], "b": (1,), 3: [], None: 0, "": ""}
        careful = _json.encode_text([value, Decimal("1.10")])
        self.assertEqual(f"[{_json.encode_text(value)},1.10]", careful)

    def test_member_text(self) -> None:
        text = ' {"tasks": [ {"task":{"a":[1,"]"],"payload": {"n":1.10,"s":"}\\""} ,"x":1}}, {"task":{"payload":null}}]}'
        self.assertEqual('{"n":1.10,"s":"}\\""}', _json.member_text(text, ("tasks", 0, "task", "payload")))
        self.assertEqual("null", _json.member_text(text, ("tasks", 1, "task", "payload")))
        self.assertEqual('"]"', _json.member_text(text, ("tasks", 0, "task", "a", 1)))
        for path in [("tasks", 2), ("nothing",), ("tasks", "a"), ("tasks", 0, "task", "a", 2), ("tasks", 0, 0)]:
            self.assertIsNone(_json.member_text(text, path))

    def test_raw_text_must_be_json(self) -> None:
        for text in ["", "{", "NaN", "1 2", "'a'"]:
            with self.assertRaises(drover.Invalid):
                _json.RawJson(text)


class Http(unittest.TestCase):
    PLAIN = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX: y\r\n\r\nhello"
    CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nhel\r\n2\r\nlo\r\n0\r\nT: u\r\n\r\n"
    EARLY = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"

    def read(self, data: bytes, size: int) -> AnswerReader:
        reader = AnswerReader()
        for at in range(0, len(data), size):
            self.assertFalse(reader.is_done)
            reader.feed(data[at : at + size])
        return reader

    def test_answers_in_pieces_of_any_size(self) -> None:
        for answer in [self.PLAIN, self.CHUNKED, self.EARLY]:
            for size in range(1, len(answer) + 1):
                reader = self.read(answer, size)
                self.assertTrue(reader.is_done, (answer, size))
                self.assertEqual((200, b"hello", True), (reader.status, reader.take_body(), reader.keeps_open))

    def test_an_answer_without_a_length_ends_with_its_connection(self) -> None:
        reader = self.read(b"HTTP/1.1 200 OK\r\n\r\nhel", 4)
        reader.feed(b"lo")
        reader.feed_end()
        self.assertEqual((True, b"hello", False), (reader.is_done, reader.take_body(), reader.keeps_open))

    def test_no_body(self) -> None:
        reader = self.read(b"HTTP/1.1 204 No Content\r\n\r\n", 100)
        self.assertTrue(reader.is_done and reader.keeps_open)

    def test_bad_answers(self) -> None:
        for answer in [
            b"SSH-2.0-OpenSSH\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-5\r\n",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0x5\r\nhello",
            "HTTP/1.1 2\u00b20 OK\r\n\r\n".encode("latin-1"),
            b"x" * 100_000,
            self.PLAIN + b"more",
        ]:
            reader = AnswerReader()
            try:
                reader.feed(answer)
                self.assertFalse(reader.keeps_open, answer[:40])
            except BadAnswer:
                pass
        for begun in [b"", b"HTTP/1.1 200", self.PLAIN[:-1], self.CHUNKED[:-2]]:
            reader = AnswerReader()
            reader.feed(begun) if begun else None
            with self.assertRaises(BadAnswer):
                reader.feed_end()


class Addresses(unittest.TestCase):
    def test_good(self) -> None:
        self.assertEqual(("h", 7711, "h"), (lambda a: (a.host, a.port, a.name))(parse_address("http://h")))
        self.assertEqual(("h", 443, True), (lambda a: (a.host, a.port, a.tls))(parse_address("https://h/")))
        self.assertEqual(("::1", 80, "[::1]:80"), (lambda a: (a.host, a.port, a.name))(parse_address("http://[::1]:80")))
        self.assertEqual("/a b", parse_address("https://h:1?ca=%2Fa%20b").ca_file)
        self.assertEqual("/a/b", parse_address("unix:/a/b").path)
        self.assertEqual(2, len(parse_addresses("http://a,unix:/b")))

    def test_bad(self) -> None:
        for url in ["", "h", "ftp://h", "http://", "http://h:0", "http://h:x", "http://h:99999", "unix:", "http://h?ca=x", "http://u:p@h",
                    "https://h?x=y", "http://h\r\nX: y", "http://a b", "http://h,", "http://h/path"]:  # fmt: skip
            with self.assertRaises(drover.Invalid, msg=url) as caught:
                parse_addresses(url)
            self.assertNotIn("u:p", str(caught.exception))

    def test_a_token_that_would_break_a_header(self) -> None:
        with self.assertRaises(drover.Invalid):
            drover.Client("http://h", "drv\r\nX: y")

    def test_options_are_checked(self) -> None:
        for options in [{"timeout": 0}, {"retries": -1}, {"floats": "x"}]:
            with self.assertRaises(drover.Invalid):
                drover.Client("http://h", "t", **options)


def trouble(effect: Effect, error: drover.DroverError = drover.Unavailable("x")) -> Trouble:
    return Trouble(error, effect)


class Retries(unittest.TestCase):
    def test_pauses_grow_and_end(self) -> None:
        attempts = Attempts(_calls.show_task("x"), 8, 1)
        pauses = [attempts.pause_after(trouble(Effect.UNKNOWN)) for _ in range(8)]
        self.assertTrue(all(0.05 <= pause <= 5 for pause in pauses), pauses)
        self.assertGreater(pauses[-1], 2)
        with self.assertRaises(drover.Unavailable) as caught:
            attempts.pause_after(trouble(Effect.UNKNOWN))
        self.assertFalse(caught.exception.outcome_unknown)  # it only read

    def test_retry_after_is_kept(self) -> None:
        attempts = Attempts(_calls.show_task("x"), 1, 1)
        self.assertEqual(7.0, attempts.pause_after(trouble(Effect.NONE, drover.QueueFull("x", retry_after_ms=7000))))

    def test_what_may_not_be_repeated(self) -> None:
        attempts = Attempts(_calls.edit_task("x", {"priority": 1}), 5, 1)
        attempts.pause_after(trouble(Effect.NONE))
        with self.assertRaises(drover.Unavailable) as caught:
            attempts.pause_after(trouble(Effect.UNKNOWN))
        self.assertTrue(caught.exception.outcome_unknown)

    def test_the_next_server_is_asked_at_once(self) -> None:
        attempts = Attempts(_calls.show_task("x"), 1, 3)
        self.assertEqual([0.0, 0.0], [attempts.pause_after(trouble(Effect.NONE)) for _ in range(2)])
        self.assertGreater(attempts.pause_after(trouble(Effect.NONE)), 0)

    def test_what_answers_mean(self) -> None:
        for status, code, kind in [
            (429, "queue_full", Trouble), (503, "store_unavailable", Trouble), (503, "store_regressed", drover.Unavailable),
            (404, "unknown_worker", drover.NotFound), (409, "stale_lease", drover.StaleLease), (412, "version_mismatch", drover.WrongState),
            (409, "request_conflict", drover.RequestConflict), (401, "unauthorised", drover.Unauthorised), (418, "teapot", drover.Invalid),
            (413, "payload_too_large", drover.Invalid), (500, "internal", drover.DroverError), (507, "disk_full", drover.Unavailable),
        ]:  # fmt: skip
            with self.assertRaises(kind):
                check_answer(status, {}, b'{"code":"%s","detail":"d"}' % code.encode())
        for status in (502, 503, 504, 429):
            with self.assertRaises(Trouble):
                check_answer(status, {}, b"<html>")

    def test_errors_can_be_pickled(self) -> None:
        for error in [drover.NotFound("d", "not_found", 404, 5), drover.Unavailable("d", outcome_unknown=True), drover.WaitTimeout("d")]:
            again = pickle.loads(pickle.dumps(error))
            self.assertEqual((type(error), str(error), vars(error)), (type(again), str(again), vars(again)))


class Values(unittest.TestCase):
    def test_durations_and_times(self) -> None:
        self.assertEqual(["1500ms", "90000ms", "5m"], [_calls.duration_text(v) for v in (1.5, timedelta(seconds=90), "5m")])
        self.assertEqual("2026-01-02T03:04:05.006Z", _calls.time_text(datetime(2026, 1, 2, 3, 4, 5, 6000, timezone.utc)))
        for bad in [lambda: _calls.duration_text(-1), lambda: _calls.duration_text(float("nan")), lambda: _calls.time_text(datetime(2026, 1, 2))]:
            with self.assertRaises(drover.Invalid):
                bad()

    def test_an_unknown_option_is_an_error(self) -> None:
        with self.assertRaises(TypeError):
            _calls.task_spec("t", None, {"prioritty": 1})
        with self.assertRaises(TypeError):
            drover.task("t", prioritty=1)(lambda payload, ctx: None)

    def test_every_option_is_one_of_the_wire(self) -> None:
        wire = set(drover.wire.TaskSpec.__annotations__) - {"type", "payload"}
        self.assertEqual(wire | {"payload_text"}, set(_calls._OPTIONS))

    def test_seen(self) -> None:
        seen = Seen()
        seen.take("", "s1:e1:1:10")
        seen.take("", "s1:e1:1:5")
        self.assertEqual("s1:e1:1:10", seen.mark())
        seen.take("", "s1:e2:2:3")  # from a server that had not heard of e1
        self.assertEqual("s1:e1:1:10", seen.mark())
        seen.take("s1:e1:1:10", "s1:e2:2:3")
        self.assertEqual("s1:e2:2:3", seen.mark())

    def test_handlers_are_checked(self) -> None:
        client = drover.Client("http://h", "t")

        async def later(payload: object, ctx: object) -> None:
            pass

        with self.assertRaises(drover.Invalid):
            drover.Worker(client, [drover.task("t")(later)])
        plain = drover.task("t")(lambda payload, ctx: None)
        for tasks, options in [([], {}), ([plain, plain], {}), ([drover.Task("t")], {}), ([plain], {"concurrency": 0}),
                               ([plain], {"lease": 1, "heartbeat": 1}), ([plain], {"on_ignored_abort": "x"}),
                               ([plain], {"worker_id": "a b"})]:  # fmt: skip
            with self.assertRaises(drover.Invalid):
                drover.Worker(client, tasks, **options)


class RandomTexts(unittest.TestCase):
    """Whatever a server sends: the seed is in the message of a failure."""

    def setUp(self) -> None:
        self.seed = random.randrange(2**32)
        self.random = random.Random(self.seed)

    def value(self, depth: int = 0) -> object:
        r = self.random
        kinds = ["none", "bool", "int", "float", "text"] + (["list", "dict"] * 2 if depth < 4 else [])
        kind = r.choice(kinds)
        if kind == "list":
            return [self.value(depth + 1) for _ in range(r.randrange(4))]
        if kind == "dict":
            return {self.text(): self.value(depth + 1) for _ in range(r.randrange(4))}
        return {"none": None, "bool": r.random() < 0.5, "int": r.randrange(-(10**25), 10**25), "float": r.uniform(-1e9, 1e9),
                "text": self.text()}[kind]  # fmt: skip

    def text(self) -> str:
        return "".join(self.random.choice('ab"\\{}[],: \n\u00e9\U0001f600') for _ in range(self.random.randrange(6)))

    def test_member_texts(self) -> None:
        for _ in range(500):
            document = {"tasks": [{"task": {self.text(): self.value(), "payload": self.value()}} for _ in range(3)]}
            text = json.dumps(document, indent=self.random.choice([None, 1]), ensure_ascii=self.random.random() < 0.5)
            self.assertEqual(document, _json.loads_float(text), self.seed)
            for place, one in enumerate(document["tasks"]):
                for name, value in one["task"].items():
                    found = _json.member_text(text, ("tasks", place, "task", name))
                    assert found is not None
                    self.assertEqual(value, json.loads(found), self.seed)

    def test_answers(self) -> None:
        for _ in range(300):
            body = bytes(self.random.randrange(256) for _ in range(self.random.randrange(200)))
            chunks, rest = b"", body
            while rest:
                size = self.random.randrange(1, len(rest) + 1)
                chunks += b"%x\r\n" % size + rest[:size] + b"\r\n"
                rest = rest[size:]
            answer = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks + b"0\r\n\r\n"
            reader, got = AnswerReader(), b""
            while answer:
                size = self.random.randrange(1, len(answer) + 1)
                reader.feed(answer[:size])
                got += reader.take_body()
                answer = answer[size:]
            self.assertEqual((True, body), (reader.is_done, got), self.seed)

    def test_broken_answers_end_in_one_error(self) -> None:
        for _ in range(2000):
            answer = bytearray(self.random.choice([Http.PLAIN, Http.CHUNKED, Http.EARLY]))
            for _ in range(self.random.randrange(1, 4)):
                answer[self.random.randrange(len(answer))] = self.random.randrange(256)
            reader = AnswerReader()
            try:
                reader.feed(bytes(answer))
                reader.feed_end()
            except BadAnswer:
                pass


class Events(unittest.TestCase):
    FRAMES = (
        b'retry: 2000\n\nevent: events\nid: 7\ndata: {"kind":"events","seq":7,"events":[{"seq":5},{"seq":7}]}\n\n'
        b'event: gap\ndata: {"kind":"gap","after":7,"seq":90}\n\n: nothing\n\n'
        b'event: events\nid: 91\ndata: {"kind":"events","seq":91,"events":[{"seq":91}]}\n\n'
    )

    def test_frames_in_pieces_of_any_size(self) -> None:
        for size in range(1, len(self.FRAMES) + 1):
            cursor = EventCursor(5, {}, _json.loads_float)
            found = [event for at in range(0, len(self.FRAMES), size) for event in cursor.feed(self.FRAMES[at : at + size])]
            self.assertEqual([{"seq": 7}, drover.Gap(7, 90), {"seq": 91}], found)  # 5 was seen before
            self.assertEqual((91, 3), (cursor.after, cursor.frames))

    def test_a_token_that_is_not_valid_any_more(self) -> None:
        with self.assertRaises(drover.Unauthorised):
            EventCursor(0, {}, _json.loads_float).feed(b'event: bye\ndata: {"kind":"bye","code":1008,"reason":"revoked"}\n\n')


class Sources(unittest.TestCase):
    FILES = sorted((ROOT / "drover").glob("*.py"))

    def test_syntax_of_python_3_9(self) -> None:
        for path in [*self.FILES, *(ROOT / "examples").glob("*.py")]:
            ast.parse(path.read_text(), str(path), feature_version=(3, 9))

    def test_nothing_but_the_standard_library(self) -> None:
        known = getattr(sys, "stdlib_module_names", None)
        if known is None:
            self.skipTest("only Python 3.10 and later know their standard library")
        for path in self.FILES:
            for node in ast.walk(ast.parse(path.read_text())):
                names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
                if isinstance(node, ast.ImportFrom) and node.level == 0:
                    names.append(node.module or "")
                for name in names:
                    self.assertIn(name.split(".")[0], known, path.name)

    def test_the_version_is_the_servers(self) -> None:
        listing = ROOT.parent.parent / "CMakeLists.txt"
        found = re.search(r"project\(drover VERSION ([0-9.]+)", listing.read_text())
        assert found is not None
        self.assertEqual(found.group(1), drover.__version__)


if __name__ == "__main__":
    unittest.main()
