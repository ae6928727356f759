"""What is attacked: a server of its own store and port, and a witness who asks beside the attack."""

import http.client
import json
import multiprocessing
import os
import re
import shutil
import socket
import ssl
import subprocess
import tempfile
import threading
import time

RSS_MAX_MB = 300
ANSWER_MAX_S = 1.0
GIVE_UP_MB = 700  # an attack that has won stops here, so that the machine survives it


# Of a network of which this machine is every address, where there is one: see own_network().
OTHER_NETWORK = "198.51.100"
IN_OWN_NETWORK = "DROVER_ATTACK_NETWORK" in os.environ
OTHER_ADDRESSES = [f"{OTHER_NETWORK}.{1 + i}" if IN_OWN_NETWORK else f"127.0.{2 + i}.2" for i in range(50)]


def own_network(arguments):
    """Starts over in a network namespace that has other addresses than those of loopback, which count as one for a server."""
    if IN_OWN_NETWORK:
        return
    enter = ["unshare", "--map-root-user", "--net", "sh", "-ec",
             f'ip link set lo up; ip route add local {OTHER_NETWORK}.0/24 dev lo; exec "$0" "$@"']
    if shutil.which("ip") and subprocess.run([*enter, "true"], capture_output=True, check=False).returncode == 0:
        os.execvpe(enter[0], [*enter, *arguments], dict(os.environ, DROVER_ATTACK_NETWORK="1"))
    print("attack: no network namespace can be made: all attackers are one address", flush=True)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def rss_mb(pid):
    try:
        with open(f"/proc/{pid}/status", encoding="ascii") as status:
            for line in status:
                if line.startswith("VmRSS:"):
                    return int(line.split()[1]) // 1024
    except (FileNotFoundError, ProcessLookupError):
        pass
    return 0


class Redis:
    """A Redis of our own, in memory."""

    def __init__(self, folder):
        self.port = free_port()
        self.process = subprocess.Popen(
            ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--dir", folder, "--save", "",
             "--appendonly", "no", "--loglevel", "warning"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_until(self.answers, 10, "redis-server does not answer")

    def answers(self):
        try:
            with socket.create_connection(("127.0.0.1", self.port), 1) as probe:
                probe.sendall(b"PING\r\n")
                return probe.recv(16).startswith(b"+PONG")
        except OSError:
            return False

    def stop(self):
        self.process.terminate()
        self.process.wait(10)


def wait_until(holds, seconds, complaint):
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            raise RuntimeError(complaint)
        time.sleep(0.02)


class Server:
    """`drover serve` over a store of its own, with a token for each role and owner."""

    ROLES = {
        "admin": ["--role", "admin"],
        "operator": ["--role", "operator"],
        "ann": ["--role", "producer", "--owner", "ann"],
        "bob": ["--role", "producer", "--owner", "bob"],
        "ann_viewer": ["--role", "viewer", "--owner", "ann"],
        "bob_viewer": ["--role", "viewer", "--owner", "bob"],
        "worker": ["--role", "worker"],
        "other_worker": ["--role", "worker", "--queue", "elsewhere"],
    }

    def __init__(self, drover, store, tls=False):
        self.drover, self.tls = drover, tls
        self.folder = tempfile.mkdtemp(prefix="drover-attack-")
        self.redis = Redis(self.folder) if store == "redis" else None
        self.store = f"redis://127.0.0.1:{self.redis.port}/0" if self.redis else f"sqlite:{self.folder}/drover.db"
        self.environment = dict(os.environ, DROVER_STORE=self.store, HOME=self.folder, XDG_STATE_HOME=self.folder)
        self.environment.pop("DROVER_TOKEN", None)
        self.tokens = {name: self.run("token", "create", *options).strip() for name, options in self.ROLES.items()}
        self.log = open(os.path.join(self.folder, "log"), "w+", encoding="utf-8", errors="replace")
        command = [drover, "serve", "--listen", "127.0.0.1:0"]
        if tls:
            command += self.make_certificate()
        self.process = subprocess.Popen(command, env=self.environment, stderr=self.log, stdout=subprocess.DEVNULL)
        wait_until(self.read_port, 20, "the server does not listen")

    def make_certificate(self):
        key, certificate = os.path.join(self.folder, "key.pem"), os.path.join(self.folder, "cert.pem")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate,
                        "-days", "1", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return ["--tls-cert", certificate, "--tls-key", key]

    def run(self, *arguments):
        return subprocess.run([self.drover, *arguments], env=self.environment, check=True, capture_output=True,
                              text=True, timeout=60).stdout

    def read_port(self):
        with open(self.log.name, encoding="utf-8", errors="replace") as log:
            found = re.search(r"https?://127\.0\.0\.1:(\d+)", log.read())
        self.port = int(found.group(1)) if found else 0
        return found is not None

    def is_alive(self):
        return self.process.poll() is None

    def rss(self):
        return rss_mb(self.process.pid)

    def ask(self, method, path, token=None, body=None, headers=None, timeout=10):
        """Status and body of one request over a connection of its own."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            fields = dict(headers or {})
            if token:
                fields["Authorization"] = "Bearer " + self.tokens.get(token, token)
            if body is not None and not isinstance(body, (bytes, str)):
                body = json.dumps(body)
                fields.setdefault("Content-Type", "application/json")
            connection.request(method, path, body, fields)
            answer = connection.getresponse()
            return answer.status, answer.read().decode("utf-8", "replace")
        finally:
            connection.close()

    def ask_json(self, *arguments, **options):
        status, text = self.ask(*arguments, **options)
        if status >= 300:
            raise RuntimeError(f"{arguments[:3]}: {status} {text[:300]}")
        return json.loads(text) if text.strip() else None

    def stop(self):
        if self.is_alive():
            self.process.terminate()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait(10)
        if self.redis:
            self.redis.stop()
        self.log.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def ask_as_witness(port, token, tls):
    if tls:
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=5, context=context)
    else:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", "/v1/tasks?limit=1&owner=nobody", headers={"Authorization": "Bearer " + token})
        answer = connection.getresponse()
        text = answer.read()
        if answer.status != 200:
            raise RuntimeError(f"{answer.status} {text[:120]!r}")
    finally:
        connection.close()


def watch(port, token, tls, pipe):
    """Asks ten times a second until it is told to stop; then tells the worst answer and what went wrong."""
    worst_s, refusals, is_over = 0.0, [], False
    while not is_over:
        begun = time.monotonic()
        try:
            ask_as_witness(port, token, tls)
        except (OSError, RuntimeError, http.client.HTTPException) as problem:
            refusals.append(str(problem) or type(problem).__name__)
        worst_s = max(worst_s, time.monotonic() - begun)
        is_over = pipe.poll(0.1)
    pipe.send((worst_s, refusals))


class Witness:
    """Another client, from another address, in a process of its own: the attacker's work does not slow it. Beside it the peak."""

    def __init__(self, server, asks=True):
        self.server, self.asks = server, asks
        self.worst_s, self.peak_mb, self.refusals, self.note = 0.0, server.rss(), [], ""
        self.over = threading.Event()
        self.looker = threading.Thread(target=self.look, daemon=True)

    def look(self):
        while not self.over.is_set():
            self.peak_mb = max(self.peak_mb, self.server.rss())
            time.sleep(0.01)

    def is_lost(self):
        """The attack has won: there is nothing more to show."""
        return not self.server.is_alive() or self.peak_mb > GIVE_UP_MB

    def __enter__(self):
        if self.asks:
            fork = multiprocessing.get_context("fork")
            self.pipe, other = fork.Pipe()
            self.process = fork.Process(target=watch, args=(self.server.port, self.server.tokens["admin"], self.server.tls, other))
            self.process.start()
        self.looker.start()
        return self

    def __exit__(self, *problem):
        self.over.set()
        self.looker.join(20)
        if self.asks:
            self.pipe.send("stop")
            if self.pipe.poll(20):
                self.worst_s, self.refusals = self.pipe.recv()
            else:
                self.worst_s, self.refusals = 20.0, ["no answer for 20 s"]
            self.process.join(5)

    def findings(self):
        found = []
        if not self.server.is_alive():
            found.append(f"the server ended with {self.server.process.returncode}")
        if self.peak_mb > RSS_MAX_MB:
            found.append(f"{self.peak_mb} MB are more than {RSS_MAX_MB}")
        if self.worst_s > ANSWER_MAX_S:
            found.append(f"another client waited {self.worst_s:.1f} s")
        if self.refusals:
            found.append(f"another client was refused {len(self.refusals)} times: {self.refusals[0]}")
        return found
