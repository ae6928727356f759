"""How four model APIs say one step of a scenario. A dialect reads a request into an Asked, and writes a step as an answer.

Answers are either (status, headers, JSON) or a stream of server-sent events. Facts of November 2026.
"""

import dataclasses
import json
import re
import time

from scenarios import Tokens

@dataclasses.dataclass(frozen=True)
class Asked:
    """What the mock needs to know of a request."""
    model: str
    prompt: str     # the last thing that a person (or Drover) said
    replies: int    # how many tool results came since
    tools: tuple    # names of the tools that the model may call
    stream: bool
    session: str    # the client's own id of the conversation, where it sends one


# kind -> for each dialect (HTTP status, error object); {reset} is the Unix time at which a limit ends.
ERRORS = {
    "rate_limit": {
        "anthropic": (429, {"type": "rate_limit_error",
                            "message": "This request would exceed your organization's rate limit of 50 requests per minute."}),
        "openai": (429, {"message": "Rate limit reached", "type": "requests", "code": "rate_limit_exceeded"}),
        "gemini": (429, {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "Resource has been exhausted (e.g. check quota).",
                         "details": [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "{retry_after}s"}]}),
    },
    "limit": {
        "anthropic": (429, {"type": "rate_limit_error", "message": "This request would exceed your account's rate limit."}),
        "openai": (429, {"type": "usage_limit_reached", "message": "The usage limit has been reached", "plan_type": "plus",
                         "resets_at": "{reset}"}),
        "gemini": (429, {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "You exceeded your current quota",
                         "details": [{"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [
                             {"quotaMetric": "generativelanguage.googleapis.com/generate_requests_per_model_per_day",
                              "quotaId": "GenerateRequestsPerDayPerProjectPerModel"}]}]}),
    },
    "quota": {
        "anthropic": (400, {"type": "invalid_request_error", "message": "Your credit balance is too low to access the Anthropic "
                            "API. Please go to Plans & Billing to upgrade or purchase credits."}),
        "openai": (429, {"message": "You exceeded your current quota, please check your plan and billing details.",
                         "type": "insufficient_quota", "code": "insufficient_quota"}),
        "gemini": (429, {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "Your prepayment credits are depleted. Please go "
                         "to AI Studio to manage your project and billing."}),
    },
    "overloaded": {
        "anthropic": (529, {"type": "overloaded_error", "message": "Overloaded"}),
        "openai": (503, {"message": "The server is overloaded", "type": "server_error", "code": "server_is_overloaded"}),
        "gemini": (503, {"code": 503, "status": "UNAVAILABLE", "message": "The model is overloaded. Please try again later."}),
    },
    "unauthorised": {
        "anthropic": (401, {"type": "authentication_error", "message": "invalid x-api-key"}),
        "openai": (401, {"message": "Incorrect API key provided", "type": "invalid_request_error", "code": "invalid_api_key"}),
        "gemini": (400, {"code": 400, "status": "INVALID_ARGUMENT", "message": "API key not valid. Please pass a valid API key.",
                         "details": [{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID",
                                      "domain": "googleapis.com"}]}),
    },
    "invalid": {
        "anthropic": (400, {"type": "invalid_request_error", "message": "messages.0.content: field required"}),
        "openai": (400, {"message": "Invalid value for 'input'.", "type": "invalid_request_error", "code": "invalid_value"}),
        "gemini": (400, {"code": 400, "status": "INVALID_ARGUMENT", "message": "Request contains an invalid argument."}),
    },
    "too_long": {
        "anthropic": (400, {"type": "invalid_request_error", "message": "prompt is too long: 210000 tokens > 200000 maximum"}),
        "openai": (400, {"message": "Your input exceeds the context window of this model. Please adjust your input and try again.",
                         "type": "invalid_request_error", "code": "context_length_exceeded"}),
        "gemini": (400, {"code": 400, "status": "INVALID_ARGUMENT", "message":
                         "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."}),
    },
    "internal": {
        "anthropic": (500, {"type": "api_error", "message": "Internal server error"}),
        "openai": (500, {"message": "The server had an error while processing your request.", "type": "server_error", "code": None}),
        "gemini": (500, {"code": 500, "status": "INTERNAL", "message": "An internal error has occurred."}),
    },
}
# Codex reads these from the stream of an accepted request, not from a status.
IN_STREAM = {"quota", "overloaded", "too_long"}


def filled(value, numbers):
    """The error with its {names} replaced: a string that is one name alone becomes a number."""
    if isinstance(value, dict):
        return {key: filled(one, numbers) for key, one in value.items()}
    if isinstance(value, list):
        return [filled(one, numbers) for one in value]
    if isinstance(value, str) and (name := re.fullmatch(r"\{(\w+)\}", value)):
        return numbers[name.group(1)]
    return value.format(**numbers) if isinstance(value, str) and "{" in value else value


def event(data, name=None):
    return (f"event: {name}\n" if name else "") + f"data: {json.dumps(data)}\n\n"


def texts(content):
    """The text parts of a message's content, which is a string or a list of parts."""
    if isinstance(content, str):
        return [content]
    return [part["text"] for part in content or () if isinstance(part.get("text"), str)]


def spoken(content):
    """What was said by a person: agents wrap what they add themselves in a tag (<system-reminder>, <environment_context>, ...)."""
    return "\n".join(text for text in texts(content) if not text.lstrip().startswith(("<", "# AGENTS.md")))


def count_since_prompt(messages):
    """messages: (kind, content), kind "said" or "result" -> the last prompt, and how many results came after it."""
    prompt, replies = "", 0
    for kind, content in messages:
        if kind == "result":
            replies += 1
        elif said := spoken(content):
            prompt, replies = said, 0
    return prompt, replies


def tool_named(asked, *known):
    """The shell tool, by the name that this version of the client gives it."""
    for name in known:
        if name in asked.tools:
            return name
    raise ValueError(f"none of {known} among the client's tools {asked.tools}")


def calls_tool(step):
    return "command" in step or "tool" in step


def mcp_call(asked, step):
    """The name that the client gives to the tool of its MCP server, and the arguments."""
    wanted = step["tool"]["name"]
    found = [name for name in asked.tools if name.endswith(wanted)]
    if len(found) != 1:
        raise ValueError(f"{len(found)} tools end with {wanted} among the client's tools {asked.tools}")
    return found[0], step["tool"]["arguments"]


class Dialect:
    errors = ""

    says_input_first = False    # whether a stream begins with what the request costs

    def counted(self, tokens):
        """The tokens of a step as this API counts them."""
        return tokens

    def billed(self, step, counted):
        """An answer that fails or breaks off is billed as far as the client was told."""
        if not {"error", "hang", "disconnect"} & set(step):
            return counted
        if self.says_input_first and "text" in step:
            return dataclasses.replace(counted, output=0, reasoning=0)
        return Tokens(0, 0, 0, 0, 0)

    def error(self, step, numbers):
        status, error = ERRORS[step["error"]][self.errors]
        headers = {"retry-after": str(step["retry_after"])} if "retry_after" in step else {}
        return status, headers, {"error": filled(error, numbers)}

    def body(self, asked, step, tokens, number):
        """The whole answer to a client that did not ask for a stream."""
        raise NotImplementedError


class WithoutCacheWrites(Dialect):
    """An API that bills what it writes to its cache as plain input."""

    def counted(self, tokens):
        return dataclasses.replace(tokens, input=tokens.input + tokens.cache_write, cache_write=0)


class Anthropic(Dialect):
    """POST /v1/messages: Claude Code, and opencode with its provider anthropic."""
    errors = "anthropic"
    says_input_first = True

    def read(self, path, headers, body):
        messages = []
        for message in body["messages"]:
            content = message["content"]
            results = [] if isinstance(content, str) else [part for part in content if part.get("type") == "tool_result"]
            messages += [("result", None)] * len(results)
            if message["role"] == "user" and not results:
                messages.append(("said", content))
        prompt, replies = count_since_prompt(messages)
        session = headers.get("x-claude-code-session-id") or ""
        tools = tuple(tool["name"] for tool in body.get("tools", ()))
        return Asked(body["model"], prompt, replies, tools, bool(body.get("stream")), session)

    def error(self, step, numbers):
        status, headers, body = super().error(step, numbers)
        if step["error"] == "limit":
            headers |= {"anthropic-ratelimit-unified-status": "rejected", "anthropic-ratelimit-unified-reset": str(numbers["reset"]),
                        "anthropic-ratelimit-unified-representative-claim": "five_hour",
                        "anthropic-ratelimit-unified-5h-status": "rejected",
                        "anthropic-ratelimit-unified-5h-reset": str(numbers["reset"]),
                        "anthropic-ratelimit-unified-5h-utilization": "1.0",
                        "anthropic-ratelimit-unified-overage-status": "rejected"}
        return status, headers, {"type": "error", **body}

    def blocks(self, asked, step, number):
        if "text" in step:
            yield {"type": "text", "text": step["text"]}
        if "command" in step:
            given = {"command": step["command"], "description": "Run a command"}
            if step.get("background"):
                given["run_in_background"] = True
            yield {"type": "tool_use", "id": f"toolu_{number}", "name": tool_named(asked, "Bash", "bash"), "input": given}
        if "tool" in step:
            name, given = mcp_call(asked, step)
            yield {"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": given}

    def message(self, asked, tokens, number):
        usage = {"input_tokens": tokens.input, "output_tokens": 1, "cache_creation_input_tokens": tokens.cache_write,
                 "cache_read_input_tokens": tokens.cached}
        return {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": asked.model, "content": [],
                "stop_reason": None, "stop_sequence": None, "usage": usage}

    def body(self, asked, step, tokens, number):
        message = self.message(asked, tokens, number)
        message["usage"]["output_tokens"] = tokens.output
        stop = "tool_use" if calls_tool(step) else "end_turn"
        return message | {"content": list(self.blocks(asked, step, number)), "stop_reason": stop}

    def stream(self, asked, step, tokens, number):
        def said(name, **data):
            return event({"type": name, **data}, name)

        yield said("message_start", message=self.message(asked, tokens, number))
        for index, block in enumerate(self.blocks(asked, step, number)):
            if block["type"] == "text":
                start, delta = block | {"text": ""}, {"type": "text_delta", "text": block["text"]}
            else:
                start, delta = block | {"input": {}}, {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
            yield said("content_block_start", index=index, content_block=start)
            yield said("content_block_delta", index=index, delta=delta)
            yield said("content_block_stop", index=index)
        stop = "tool_use" if calls_tool(step) else "end_turn"
        yield said("message_delta", delta={"stop_reason": stop, "stop_sequence": None}, usage={
            "output_tokens": tokens.output, "output_tokens_details": {"thinking_tokens": tokens.reasoning}})
        yield said("message_stop")


class Responses(Dialect):
    """POST /v1/responses: Codex."""
    errors = "openai"

    def read(self, path, headers, body):
        messages = []
        for item in body["input"]:
            if item.get("role") == "user":
                messages.append(("said", item["content"]))
            elif item.get("type", "").endswith("_call_output"):
                messages.append(("result", None))
        prompt, replies = count_since_prompt(messages)
        return Asked(body["model"], prompt, replies, tuple(self.tools(body)), bool(body.get("stream")), headers.get("session-id") or "")

    def tools(self, body):
        """Tools of an MCP server are in a namespace of their own."""
        for tool in body.get("tools", ()):
            inner = tool.get("tools") if tool["type"] == "namespace" else None
            if inner is None:
                yield tool.get("name", tool["type"])
            else:
                yield from (f"{tool['name']}/{one['name']}" for one in inner)

    def error(self, step, numbers):
        if step["error"] not in IN_STREAM:
            return super().error(step, numbers)
        error = filled(ERRORS[step["error"]]["openai"][1], numbers)
        failed = {"id": "resp_failed", "object": "response", "status": "failed", "error": error}
        return 200, {}, [event({"type": "response.created", "response": {"id": "resp_failed"}}, "response.created"),
                         event({"type": "response.failed", "response": failed}, "response.failed")]

    def items(self, asked, step, number):
        if "text" in step:
            yield {"type": "message", "id": f"msg_{number}", "role": "assistant",
                   "content": [{"type": "output_text", "text": step["text"]}]}
        if "command" in step:
            name = tool_named(asked, "exec_command", "shell_command", "shell")
            given = {"exec_command": {"cmd": step["command"], "yield_time_ms": 30000}, "shell_command": {"command": step["command"]},
                     "shell": {"command": ["bash", "-c", step["command"]]}}[name]
            yield {"type": "function_call", "id": f"fc_{number}", "call_id": f"call_{number}", "name": name,
                   "arguments": json.dumps(given)}
        if "tool" in step:
            name, given = mcp_call(asked, step)
            namespace, _, tool = name.rpartition("/")
            yield {"type": "function_call", "id": f"fc_{number}", "call_id": f"call_{number}", "name": tool,
                   **({"namespace": namespace} if namespace else {}), "arguments": json.dumps(given)}

    def completed(self, asked, step, tokens, number):
        given = tokens.input + tokens.cached + tokens.cache_write
        usage = {"input_tokens": given, "input_tokens_details": {"cached_tokens": tokens.cached, "cache_write_tokens": tokens.cache_write},
                 "output_tokens": tokens.output, "output_tokens_details": {"reasoning_tokens": tokens.reasoning},
                 "total_tokens": given + tokens.output}
        return {"id": f"resp_{number}", "object": "response", "status": "completed", "model": asked.model, "usage": usage,
                "output": list(self.items(asked, step, number))}

    def body(self, asked, step, tokens, number):
        return self.completed(asked, step, tokens, number)

    def stream(self, asked, step, tokens, number):
        def said(name, **data):
            return event({"type": name, **data}, name)

        yield said("response.created", response={"id": f"resp_{number}"})
        for index, item in enumerate(self.items(asked, step, number)):
            if item["type"] == "message":
                yield said("response.output_item.added", output_index=index, item=item | {"content": []})
                yield said("response.output_text.delta", item_id=item["id"], output_index=index, content_index=0,
                           delta=item["content"][0]["text"])
            yield said("response.output_item.done", output_index=index, item=item)
        yield said("response.completed", response=self.completed(asked, step, tokens, number))


class Chat(WithoutCacheWrites):
    """POST /v1/chat/completions: opencode, and whatever else speaks "OpenAI-compatible"."""
    errors = "openai"

    def read(self, path, headers, body):
        kinds = {"user": "said", "tool": "result"}
        prompt, replies = count_since_prompt((kinds[message["role"]], message.get("content"))
                                             for message in body["messages"] if message["role"] in kinds)
        tools = tuple(tool["function"]["name"] for tool in body.get("tools", ()))
        session = headers.get("x-session-id") or headers.get("x-session-affinity") or ""
        return Asked(body["model"], prompt, replies, tools, bool(body.get("stream")), session)

    def delta(self, asked, step, number):
        said = {"role": "assistant", "content": step.get("text", "")}
        if "command" in step:
            given = json.dumps({"command": step["command"], "description": "Run a command"})
            said["tool_calls"] = [{"index": 0, "id": f"call_{number}", "type": "function",
                                   "function": {"name": tool_named(asked, "bash", "Bash"), "arguments": given}}]
        if "tool" in step:
            name, given = mcp_call(asked, step)
            said["tool_calls"] = [{"index": 0, "id": f"call_{number}", "type": "function",
                                   "function": {"name": name, "arguments": json.dumps(given)}}]
        return said, "tool_calls" if calls_tool(step) else "stop"

    def usage(self, tokens):
        given = tokens.input + tokens.cached
        return {"prompt_tokens": given, "completion_tokens": tokens.output, "total_tokens": given + tokens.output,
                "prompt_tokens_details": {"cached_tokens": tokens.cached},
                "completion_tokens_details": {"reasoning_tokens": tokens.reasoning}}

    def head(self, asked, number, kind):
        return {"id": f"chatcmpl_{number}", "object": kind, "created": int(time.time()), "model": asked.model}

    def body(self, asked, step, tokens, number):
        said, reason = self.delta(asked, step, number)
        return self.head(asked, number, "chat.completion") | {
            "choices": [{"index": 0, "message": said, "finish_reason": reason}], "usage": self.usage(tokens)}

    def stream(self, asked, step, tokens, number):
        said, reason = self.delta(asked, step, number)
        head = self.head(asked, number, "chat.completion.chunk")
        yield event(head | {"choices": [{"index": 0, "delta": said, "finish_reason": None}]})
        yield event(head | {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
        yield event(head | {"choices": [], "usage": self.usage(tokens)})
        yield "data: [DONE]\n\n"


class Gemini(WithoutCacheWrites):
    """POST /v1beta/models/MODEL:streamGenerateContent and :generateContent: Gemini CLI."""
    errors = "gemini"

    def read(self, path, headers, body):
        messages = []
        for content in body["contents"]:
            if content.get("role") != "model":
                results = [part for part in content["parts"] if "functionResponse" in part]
                messages += [("result", None)] * len(results) if results else [("said", content["parts"])]
        prompt, replies = count_since_prompt(messages)
        tools = tuple(one["name"] for tool in body.get("tools", ()) for one in tool.get("functionDeclarations", ()))
        model, verb = path.rsplit("/", 1)[1].split(":")
        return Asked(model, prompt, replies, tools, verb.startswith("stream"), headers.get("x-gemini-session-id") or "")

    def parts(self, asked, step):
        if "text" in step:
            yield {"text": step["text"]}
        if "command" in step:
            yield {"functionCall": {"name": tool_named(asked, "run_shell_command"),
                                    "args": {"command": step["command"], "description": "Run a command"}}}
        if "tool" in step:
            name, given = mcp_call(asked, step)
            yield {"functionCall": {"name": name, "args": given}}

    def said(self, asked, parts, **more):
        return {"candidates": [{"index": 0, "content": {"role": "model", "parts": parts}, **more}], "modelVersion": asked.model}

    def usage(self, tokens):
        given = tokens.input + tokens.cached
        return {"promptTokenCount": given, "cachedContentTokenCount": tokens.cached, "thoughtsTokenCount": tokens.reasoning,
                "candidatesTokenCount": tokens.output - tokens.reasoning, "totalTokenCount": given + tokens.output}

    def body(self, asked, step, tokens, number):
        return self.said(asked, list(self.parts(asked, step)), finishReason="STOP") | {"usageMetadata": self.usage(tokens)}

    def stream(self, asked, step, tokens, number):
        for part in self.parts(asked, step):
            yield event(self.said(asked, [part]))
        yield event(self.said(asked, [{"text": ""}], finishReason="STOP") | {"usageMetadata": self.usage(tokens)})


def dialect_of(path):
    """The dialect in which a path is spoken; None for paths that cost nothing."""
    for ending, dialect in (("/messages", Anthropic), ("/responses", Responses), ("/chat/completions", Chat),
                            (":streamGenerateContent", Gemini), (":generateContent", Gemini)):
        if path.endswith(ending):
            return dialect()
    return None
