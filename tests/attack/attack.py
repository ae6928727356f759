#!/usr/bin/env python3
"""Attacks a server and says what it cost: python3 tests/attack/attack.py DROVER [--store sqlite|redis] [--only TEXT]

The server has a port and a store of its own on this machine, and so has everything else here. Each attack is one line: whether it
was withstood, the server's peak of memory, the worst answer to another client meanwhile, and what was let through. Exits with 1
if anything was. An attack never takes longer than a minute, nor more memory than target.GIVE_UP_MB.
"""

import argparse
import resource
import sys
import time

import edges
import rights
from target import Server, Witness, own_network

CONNECTIONS = 10_000


def raise_descriptor_limit():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = CONNECTIONS + 2_000
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(wanted, hard)), hard))
    except (OSError, ValueError):
        pass
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < wanted:
        print(f"attack: this machine allows {soft} descriptors: fewer than {CONNECTIONS} connections are tried", flush=True)


def line(store, attack, witness, seconds, found):
    verdict = "ok  " if not found else "FAIL"
    print(f"{verdict}  {store:6}  {attack.__name__:28}  peak {witness.peak_mb:4} MB  worst answer {witness.worst_s * 1000:6.0f} ms  "
          f"{seconds:4.0f} s  {witness.note}", flush=True)
    for one in found:
        print(f"        {one}", flush=True)


def run(drover, store, attacks, tls):
    """Each starts with a server that nobody has attacked, if the one before was lost."""
    server, failed = None, 0
    try:
        for attack in attacks:
            server = server or Server(drover, store, tls)
            begun = time.monotonic()
            with Witness(server) as witness:
                try:
                    through = attack(server, witness)
                except Exception as problem:  # whatever it is, the other attacks go on
                    through = [f"the attack broke off: {type(problem).__name__}: {problem}"]
            found = through + witness.findings()
            line(store, attack, witness, time.monotonic() - begun, found)
            failed += bool(found)
            if found or witness.peak_mb > 200:
                server.stop()
                server = None
    finally:
        if server:
            server.stop()
    return failed


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("drover")
    options.add_argument("--store", choices=["sqlite", "redis"], action="append")
    options.add_argument("--only", default="", help="attacks whose name has this text")
    chosen = options.parse_args()
    own_network([sys.executable, *sys.argv])
    raise_descriptor_limit()
    failed = tried = 0
    for store in chosen.store or ["sqlite", "redis"]:
        for attacks, tls in ((edges.PLAIN + rights.ALL, False), (edges.TLS, True)):
            wanted = [attack for attack in attacks if chosen.only in attack.__name__]
            tried += len(wanted)
            failed += run(chosen.drover, store, wanted, tls)
    print(f"attack: {tried - failed} of {tried} withstood", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
