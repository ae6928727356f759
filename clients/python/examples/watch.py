"""Follow what happens, and resume after the last event that was seen."""

import drover


def main() -> None:
    with drover.Client() as client:
        start = client.call("GET", "/v1/events/last")["seq"]
        handle = client.enqueue("errand", {"buy": "milk"})
        handle.cancel("the fridge is full")

        for event in client.events(after=start, task=handle.id):
            if isinstance(event, drover.Gap):  # the store keeps a week of events; older ones are gone
                print(f"events up to {event.seq} are gone")
                continue
            print(event["name"])
            last_seen = event["seq"]  # keep it, and go on from here next time
            if event["state"] == "cancelled":
                break
        assert last_seen > start


if __name__ == "__main__":
    main()

# Output:
# task.enqueued
# task.cancelled
