"""Every role and both owners through every route, and an agent at its own door: nothing of another owner is seen or moved."""

import json
import os
import re
import stat
import subprocess
import sys
import time
import uuid

SECRET = "the-secret-of-ann"
OPEN_TO_ALL = {("GET", "/healthz"), ("GET", "/readyz"), ("GET", "/openapi.json")}
NEVER = {("GET", "/v1/ws")}  # a WebSocket: edges.py has it


class World:
    """Tasks of ann and of bob in each interesting state."""

    def __init__(self, server):
        self.server = server
        self.ann = {}
        self.ann["pending"] = self.enqueue("ann", "ann-type", "ann-queue")
        self.ann["failed"] = self.enqueue("ann", "ann-type", "ann-failed", max_attempts=1)
        self.ann["running"] = self.enqueue("ann", "ann-type", "ann-runs")
        self.bob = {"pending": self.enqueue("bob", "bob-type", "bob-queue"), "running": self.enqueue("bob", "bob-type", "bob-runs")}
        self.leases = {}
        server.ask_json("POST", "/v1/workers", "worker",
                        {"id": "ann-worker", "version": "1", "serves": [{"queue": "ann-runs"}], "capacity": 4})
        for owner, tasks in (("ann", self.ann), ("bob", self.bob)):
            self.leases[owner] = self.claim(f"{owner}-runs", tasks["running"])
        failing = self.claim("ann-failed", self.ann["failed"])
        server.ask_json("POST", f"/v1/tasks/{self.ann['failed']}/fail", "worker",
                        {"lease_id": failing, "class": "invalid", "message": SECRET})
        self.routes = self.read_routes()

    def enqueue(self, owner, type_name, queue, **more):
        spec = {"type": type_name, "queue": queue, "payload": {"secret": SECRET if owner == "ann" else "of-bob"}, **more}
        return self.server.ask_json("POST", "/v1/tasks", owner, spec)["id"]

    def claim(self, queue, task):
        tasks = self.server.ask_json("POST", "/v1/workers/ann-worker/claim", "admin",
                                     {"serves": [{"queue": queue}], "n": 1, "lease_ms": 600_000})["tasks"]
        assert tasks and tasks[0]["task"]["id"] == task, tasks
        return tasks[0]["lease_id"]

    def read_routes(self):
        description = self.server.ask_json("GET", "/openapi.json")
        methods = ("get", "post", "put", "patch", "delete")
        return [(method.upper(), path) for path, entry in description["paths"].items() for method in methods if method in entry]

    def of_ann(self):
        """What everybody's attempts must leave as it is."""
        tasks = self.server.ask_json("GET", "/v1/tasks?owner=ann&limit=1000", "admin")["tasks"]
        return {task["id"]: task for task in tasks}

    def shared(self):
        """What no token of an owner or a worker may move."""
        ask = self.server.ask_json
        return {"gates": ask("GET", "/v1/gates", "admin"), "config": ask("GET", "/v1/config", "admin"),
                "tokens": sorted(token["id"] for token in ask("GET", "/v1/tokens", "admin")["tokens"] if not token.get("revoked_at")),
                "workers": sorted(worker["id"] for worker in ask("GET", "/v1/workers", "admin")["workers"])}


def bodies_for(world, task):
    lease = world.leases["bob"]
    spec = {"type": "bob-type"}
    yield from ({}, {"lease_id": lease}, {"lease_id": str(uuid.uuid4())}, spec,
                {**spec, "depends_on": [task]}, {**spec, "owner": "ann"}, {**spec, "parent_id": task},
                {"tasks": [spec, {**spec, "depends_on": [task]}]},
                {"action": "close"}, {"role": "admin"}, {"to": "bob"}, {"reason": "x"}, {"priority": 0},
                {"serves": [{"queue": "ann-queue"}], "n": 5, "lease_ms": 1000},
                {"id": "ann-worker", "version": "1", "serves": [{"queue": "elsewhere"}], "capacity": 1},
                {"leases": [{"task_id": task, "lease_id": lease}]}, {"document": {}, "version": 0},
                {"settlements": [{"task_id": task, "lease_id": lease, "end": "completed"}]}, {"max_age_ms": 0}, {"mode": "repair"})


def filled(path, task):
    return re.sub(r"\{[^}]*\}", lambda part: {"{name}": "all"}.get(part.group(), task if "tasks" in path else "ann-worker"), path)


def every_route(server, witness):
    """No token, bob's tokens and a worker of other queues, at everything, with the ids of ann's tasks."""
    world = World(server)
    before, shared_before = world.of_ann(), world.shared()
    through = []
    for role in (None, "drv_aaaaaaaa_" + "b" * 43, "bob_viewer", "bob", "other_worker"):
        for method, path in world.routes:
            if (method, path) in NEVER:
                continue
            for task in world.ann.values() if "{id}" in path and "tasks" in path else [world.ann["running"]]:
                for body in bodies_for(world, task) if method in ("POST", "PUT", "PATCH") else [None]:
                    if path == "/v1/tasks" and method == "POST" and role == "bob" and "depends_on" not in json.dumps(body):
                        continue  # bob may enqueue
                    headers = {"Drover-Lease": world.leases["bob"]}
                    status, text = server.ask(method, filled(path, task) + ("?timeout=0s" if path.endswith(("/wait", "changes")) else ""),
                                              role, body, headers)
                    where = f"{role or 'nobody'}: {method} {path} {json.dumps(body) if body else ''}: {status}"[:200]
                    if (role is None or role.startswith("drv_")) and (method, path) not in OPEN_TO_ALL and status != 401:
                        through.append(where)
                    if SECRET in text or "ann-type" in text:
                        through.append(where + " tells of ann's task: " + text[:80])
                    if status >= 500:
                        through.append(where + " " + text[:80])
            if witness.is_lost():
                return through
    after, shared_after = world.of_ann(), world.shared()
    for task, record in before.items():
        if after.get(task) != record:
            changed = [key for key in record if after.get(task, {}).get(key) != record[key]]
            through.append(f"ann's {record['state']} task was changed: {changed}")
    through += [f"{part} were changed" for part in shared_before if shared_before[part] != shared_after[part]]
    return sorted(set(through))[:20]


def runs_of_others(server, witness):
    """A run of bob's names ann's task; a worker of other queues uses what it found out."""
    world = World(server)
    ask, through = server.ask, []
    bob, ann = world.bob["running"], world.ann["running"]
    spec = {"type": "bob-type", "depends_on": [world.ann["pending"]]}
    for body in (spec, {"tasks": [spec]}):
        status, text = ask("POST", f"/v1/tasks/{bob}/children", "worker", body, {"Drover-Lease": world.leases["bob"]})
        if status < 400:
            through.append(f"a child of bob's depends on ann's task: {status} {text[:80]}")
    status, text = ask("POST", "/v1/tasks", "bob", spec)
    if status < 400:
        through.append(f"bob's task depends on ann's: {status}")
    unknown, _ = ask("POST", "/v1/tasks", "bob", {**spec, "depends_on": [str(uuid.uuid4())]})
    if status != unknown:
        through.append(f"ann's task is told from one that is not: {status}, {unknown}")
    for method, path, body in [("GET", f"/v1/tasks/{ann}", None),
                               ("POST", f"/v1/tasks/{ann}/complete", {"lease_id": world.leases["ann"]}),
                               ("POST", f"/v1/tasks/{ann}/progress", {"lease_id": world.leases["ann"], "percent": 1}),
                               ("POST", f"/v1/tasks/{ann}/log", {"lease_id": world.leases["ann"], "chunks": [{"stream": "stdout", "text": "x"}]}),
                               ("POST", f"/v1/tasks/{ann}/release", {"lease_id": world.leases["ann"]}),
                               ("POST", f"/v1/tasks/{ann}/fail", {"lease_id": world.leases["ann"], "class": "invalid", "message": "x"}),
                               ("DELETE", "/v1/workers/ann-worker", None)]:
        status, text = ask(method, path, "other_worker", body)
        if status < 400:
            through.append(f"a worker of other queues: {method} {path.replace(ann, 'ID')}: {status}")
        elif status == 409:
            through.append(f"a worker of other queues learns the state: {method} {path.replace(ann, 'ID')}: 409")
    return through


AGENT = r'''
import json, os, socket, sys, time
path = os.environ["DROVER_URL"].removeprefix("unix:")
def ask(text):
    with socket.socket(socket.AF_UNIX) as door:
        door.settimeout(10); door.connect(path); door.sendall(text); return door.recv(65536)
def request(method, where, body=b""):
    return b"%s %s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n\r\n" % (method, where, len(body)) + body
order = json.load(sys.stdin)
if order["do"] == "measure":
    worst = 0.0
    end = time.monotonic() + order["seconds"]
    while time.monotonic() < end:
        begun = time.monotonic(); answer = ask(request(b"POST", b"/v1/task/log", b'{"text":"x"}')); worst = max(worst, time.monotonic() - begun)
        if b" 20" not in answer[:15]: print(json.dumps({"answer": answer[:80].decode("latin-1")})); sys.exit(0)
        time.sleep(0.05)
    print(json.dumps({"worst": worst}))
elif order["do"] == "name":
    print(json.dumps({"answer": ask(request(b"POST", b"/v1/tasks", json.dumps({"type": "bob-type", "depends_on": [order["task"]]}).encode())).decode("latin-1")[:200]}))
else:
    sent, doors, end = 0, [], time.monotonic() + order["seconds"]
    for _ in range(order["connections"]):
        door = socket.socket(socket.AF_UNIX)
        try:
            door.settimeout(1); door.connect(path); door.sendall(order["opening"].encode()); door.setblocking(False); doors.append(door)
        except OSError: break
    chunk = order["chunk"].encode() * (65536 // max(1, len(order["chunk"])))
    while doors and time.monotonic() < end and sent < 2 << 30:
        for door in list(doors):
            try: sent += door.send(chunk)
            except BlockingIOError: time.sleep(0.001)
            except OSError: doors.remove(door)
    print(json.dumps({"sent": sent}))
'''


class WorkerTarget:
    """A worker, for the witness to look at: how large it is."""

    tls = False

    def __init__(self, process):
        self.process = process

    def is_alive(self):
        return self.process.poll() is None

    def rss(self):
        from target import rss_mb
        return rss_mb(self.process.pid)


def start_worker(server):
    agent = os.path.join(server.folder, "agent.py")
    with open(agent, "w", encoding="ascii") as file:
        file.write(AGENT)
    os.chmod(agent, stat.S_IRUSR | stat.S_IXUSR)
    return subprocess.Popen([server.drover, "work", "--queue", "door", "--concurrency", "4", "--log-level", "error", "--", sys.executable, agent],
                            env=server.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def result_of(server, task, seconds=40):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        record = server.ask_json("GET", f"/v1/tasks/{task}", "admin")
        if record["state"] in ("completed", "failed", "cancelled"):
            return record
        time.sleep(0.1)
    return {"state": "late", "result": None, "error": None}


def door(server, witness):
    """Agents at their own doors: one floods it, one asks beside it, one names ann's task."""
    from target import ANSWER_MAX_S, RSS_MAX_MB, Witness
    through = []
    anns = server.ask_json("POST", "/v1/tasks", "ann", {"type": "ann-type", "queue": "ann-queue"})["id"]
    worker = start_worker(server)
    chunked = "POST /v1/task/log HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    attacks = {
        "a chunk size without end": (chunked, "0"), "an extension without end": (chunked + "1;", "a"),
        "a trailer without end": (chunked + "0\r\nX: ", "a"), "a header without end": ("GET / HTTP/1.1\r\nX: ", "a"),
        "requests that nobody reads": ("", "GET /v1/task HTTP/1.1\r\nHost: x\r\n\r\n"),
        "a body without end": ("POST /v1/task/log HTTP/1.1\r\nHost: x\r\nContent-Length: 9999999999\r\n\r\n", "a"),
        "silent connections": ("", ""),
    }
    try:
        with Witness(WorkerTarget(worker), asks=False) as beside:
            def enqueue(order):
                return server.ask_json("POST", "/v1/tasks", "bob", {"type": "door", "queue": "door", "payload": order, "max_attempts": 1})["id"]
            record = result_of(server, enqueue({"do": "name", "task": anns}))
            if " 201 " in json.dumps(record["result"]):
                through.append("at the door a run depends on ann's task: 201")
            for name, (opening, chunk) in attacks.items():
                measured = enqueue({"do": "measure", "seconds": 5})
                enqueue({"do": "flood", "opening": opening, "chunk": chunk, "seconds": 4, "connections": 100})
                record = result_of(server, measured)
                worst = (record["result"] or {}).get("worst")
                if worst is None or worst > ANSWER_MAX_S:
                    through.append(f"{name}: another door answered in {worst} s ({record['state']}, {record['result']}, {record['error']})")
                if beside.peak_mb > RSS_MAX_MB:
                    through.append(f"{name}: the worker grew to {beside.peak_mb} MB")
                    break
        witness.note = f"the worker's peak {beside.peak_mb} MB"
        if not beside.server.is_alive():
            through.append(f"the worker ended with {worker.returncode}")
    finally:
        worker.terminate()
        try:
            worker.wait(20)
        except subprocess.TimeoutExpired:
            worker.kill()
            worker.wait(10)
    return through


ALL = [every_route, runs_of_others, door]
