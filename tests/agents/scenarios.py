"""What a model does, in words that no provider owns: a scenario is a list of steps, one for each request of a turn.

A step is a dict; all keys are optional:

    text        what the model says
    command     the shell command that it asks for; a step without one ends the turn
    tool        {name, arguments}: the tool of an MCP server that it asks for instead; clients put something of their own before the name
    background  the agent should not wait for the command (Claude Code only)
    tokens      {input, cached, cache_write, output, reasoning}; see Tokens
    error       the request fails: a key of dialects.ERRORS
    retry_after, reset_in   seconds, for an error that says when to come back
    hang        "silent": no byte of an answer; "midway": the answer stops in the middle, and the connection stays open
    disconnect  the connection breaks in the middle of the answer
    times       fail so often, over all requests to this mock, then go on with the steps that follow

A script file is a JSON object {"NAME": [step, ...], ...}; its scenarios are added to those below.
"""

import dataclasses
import json


@dataclasses.dataclass(frozen=True)
class Tokens:
    """As a provider bills them: input is what no cache had, output includes reasoning."""
    input: int = 1000
    cached: int = 5000
    cache_write: int = 0
    output: int = 50
    reasoning: int = 0


# USD per million tokens: input, cached, cache_write, output. Claude Code and opencode price these models alike.
PRICES = {
    "claude-opus-5-5": (4, 0.2, 5, 20),
    "gpt-5": (1.25, 0.125, 1.25, 10),
    "gemini-2.5-pro": (1.25, 0.125, 1.25, 10),
    "mock-model": (3, 0.3, 3.75, 15),
}


def cost_usd(model, tokens):
    """None when the model is not in PRICES."""
    if model not in PRICES:
        return None
    counts = (tokens.input, tokens.cached, tokens.cache_write, tokens.output)
    return round(sum(count * price for count, price in zip(counts, PRICES[model])) / 1e6, 9)


DONE = {"text": "All done.", "tokens": {"input": 1000, "cached": 5000, "output": 50, "reasoning": 10}}


def says(text, command, **more):
    return {"text": text, "command": command, "tokens": {"input": 1200, "cached": 4000, "output": 200, "reasoning": 20}, **more}


SCENARIOS = {
    "ok": [DONE],
    "tools": [says("I will look.", "echo hello"), DONE],
    "three_requests": [
        {"text": "Step one.", "command": "echo one",
         "tokens": {"input": 1100, "cached": 0, "cache_write": 2000, "output": 210, "reasoning": 30}},
        {"text": "Step two.", "command": "echo two", "tokens": {"input": 307, "cached": 3100, "output": 120, "reasoning": 0}},
        {"text": "All done.", "tokens": {"input": 413, "cached": 3407, "output": 53, "reasoning": 7}},
    ],
    "mcp": [{"text": "I hand it over.", "tool": {"name": "enqueue_task", "arguments": {
        "type": "greet", "payload": {"name": "Ada"}, "tags": ["from-agent"], "wait_seconds": 30}}}, DONE],
    "slow_tool": [says("This takes a while.", "echo started > started; sleep 20; echo slept"), DONE],
    "background": [says("In the background.", "sleep 3; echo bgdone", background=True), DONE],
    "429": [{"error": "rate_limit", "retry_after": 2}],
    "429_once": [{"error": "rate_limit", "retry_after": 1, "times": 1}, DONE],
    "429_later": [says("First this.", "echo hello"), {"error": "rate_limit", "retry_after": 2}],
    "limit": [{"error": "limit", "reset_in": 3600}],
    "limit_in_days": [{"error": "limit", "reset_in": 3 * 86400}],
    "quota": [{"error": "quota"}],
    "529": [{"error": "overloaded"}],
    "401": [{"error": "unauthorised"}],
    "400": [{"error": "invalid"}],
    "too_long": [{"error": "too_long"}],
    "500": [{"error": "internal"}],
    "hang": [{"hang": "silent"}],
    "stall": [{"text": "Let me think about", "hang": "midway"}],
    "disconnect": [{"text": "Let me think about", "disconnect": True}],
    "disconnect_once": [{"text": "Let me think about", "disconnect": True, "times": 1}, DONE],
}

KEYS = {"text", "command", "tool", "background", "tokens", "error", "retry_after", "reset_in", "hang", "disconnect", "times"}


def load(path):
    """The scenarios of a script file, checked, so that a slip of the pen fails at the start."""
    with open(path, encoding="utf-8") as file:
        added = json.load(file)
    for name, steps in added.items():
        if not steps:
            raise ValueError(f"{path}: scenario {name} has no steps")
        for step in steps:
            if unknown := set(step) - KEYS:
                raise ValueError(f"{path}: scenario {name}: unknown keys {sorted(unknown)}; there are {sorted(KEYS)}")
            Tokens(**step.get("tokens", {}))
    return added
