"""The program of docs/guide/from-celery.md as it is with Celery.

A worker: celery -A celery_before worker. The program: python3 -c 'import celery_before; celery_before.main()'.
"""

import os

from celery import Celery, chord

app = Celery("reports", broker=os.environ["REDIS_URL"], backend=os.environ["REDIS_URL"])


@app.task(bind=True, autoretry_for=(ConnectionError,), max_retries=2, retry_backoff=True, acks_late=True, time_limit=60)
def fetch(self, city):
    if city == "Atlantis":
        raise ValueError("no such city")
    if city == "Oslo" and self.request.retries == 0:
        raise ConnectionError("try again")
    return {"city": city, "letters": len(city)}


@app.task(name="report")
def report(found):
    return sum(one["letters"] for one in found)


def main():
    total = chord(fetch.s(city) for city in ["Rome", "Oslo", "Lima"])(report.s())
    print(total.get(timeout=60))
    try:
        fetch.apply_async(("Atlantis",), priority=9).get(timeout=60)
    except ValueError as error:
        print("failed:", error)

# Output:
# 12
# failed: no such city
