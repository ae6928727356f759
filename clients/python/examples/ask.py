"""A handler that asks a person, and holds no slot while nobody answers."""

import drover


@drover.task("deploy")
def deploy(payload: str, ctx: drover.Context) -> str:
    answer = ctx.ask(f"Deploy {payload} to production?", options=["yes", "no"], wait=0.1)
    return f"{payload} is deployed" if answer == "yes" else f"{payload} stays where it is"


def main() -> None:
    with drover.Client() as client:
        handle = deploy.enqueue(client, "1.4")
        # It would wait for the answer, too. This worker serves nothing else, so it ends.
        drover.Worker(client, [deploy]).run(until_empty=True)
        print(handle.get()["state"])

        # A person would run `drover question answer`, or use the dashboard.
        for question in client.questions(task=handle.id, state="open"):
            print(question["text"])
            client.question(question["id"]).answer("yes")

        report = drover.Worker(client, [deploy]).run(until_empty=True)
        print(handle.result(timeout=10))
        print(f"{report.completed} completed")


if __name__ == "__main__":
    main()

# Output:
# blocked
# Deploy 1.4 to production?
# 1.4 is deployed
# 1 completed
