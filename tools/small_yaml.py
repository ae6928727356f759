"""The part of YAML that src/server/openapi.yaml is written in, so that tools need nothing beside Python.

Block and flow mappings and sequences, plain and quoted scalars, literal and folded block scalars, comments. Anchors, tags, several
documents and plain scalars over several lines are refused, never guessed at.
"""

import re

KEY = re.compile(r"""((?:'[^']*'|"[^"]*"|[^\s'"\[{#-][^#]*?|-[^\s#][^#]*?)):(?:\s+(.*)|$)""")
INTEGER = re.compile(r"-?(0|[1-9][0-9]*)$")


class YamlError(Exception):
    pass


def without_comment(text):
    """Cuts a comment off a line. A # counts only after white space and outside quotes."""
    quote = None
    for i, char in enumerate(text):
        if quote:
            quote = None if char == quote else quote
        elif char in "'\"" and (i == 0 or text[i - 1] in " [{,:"):
            quote = char
        elif char == "#" and (i == 0 or text[i - 1] == " "):
            return text[:i].rstrip()
    return text.rstrip()


def scalar(text):
    if text[:1] == "'":
        return text[1:-1].replace("''", "'")
    if text[:1] == '"':
        return re.sub(r"\\(.)", r"\1", text[1:-1])
    if text in ("true", "false"):
        return text == "true"
    if text in ("null", "~", ""):
        return None
    if text[:1] in "&*!%@`":
        raise YamlError(f"not in this subset of YAML: {text}")
    return int(text) if INTEGER.match(text) else text


class Flow:
    """One flow value: {a: b, c: [d, e]}."""

    def __init__(self, text):
        self.text = text
        self.at = 0

    def skip(self):
        while self.at < len(self.text) and self.text[self.at] == " ":
            self.at += 1

    def whole(self):
        value = self.value()
        self.skip()
        if self.at != len(self.text):
            raise YamlError(f"more after a flow value: {self.text[self.at:]}")
        return value

    def value(self):
        self.skip()
        char = self.text[self.at : self.at + 1]
        if char == "{":
            return self.mapping()
        if char == "[":
            return self.sequence()
        return self.scalar(",}]")

    def mapping(self):
        self.at += 1
        found = {}
        while not self.ends("}"):
            key = self.scalar(":")
            if self.text[self.at : self.at + 1] != ":":
                raise YamlError(f"no value for {key!r}; quote the text if a comma belongs to it: {self.text}")
            self.at += 1
            found[key] = self.value()
            self.separator("}")
        return found

    def sequence(self):
        self.at += 1
        found = []
        while not self.ends("]"):
            found.append(self.value())
            self.separator("]")
        return found

    def ends(self, closing):
        self.skip()
        if self.text[self.at : self.at + 1] != closing:
            return False
        self.at += 1
        return True

    def separator(self, closing):
        self.skip()
        char = self.text[self.at : self.at + 1]
        if char == ",":
            self.at += 1
        elif char != closing:
            raise YamlError(f"expected , or {closing} at {self.text[self.at:]!r} of {self.text}")

    def scalar(self, stops):
        self.skip()
        start = self.at
        quote = self.text[start : start + 1]
        if quote in ("'", '"'):
            end = self.text.index(quote, start + 1)
            while quote == "'" and self.text[end + 1 : end + 2] == "'":
                end = self.text.index(quote, end + 2)
            self.at = end + 1
            return scalar(self.text[start : self.at])
        while self.at < len(self.text) and not self.stops_here(stops):
            self.at += 1
        return scalar(self.text[start : self.at].strip())

    def stops_here(self, stops):
        char = self.text[self.at]
        if char == ":" and ":" in stops:
            return self.text[self.at + 1 : self.at + 2] in ("", " ")
        return char in stops


def open_brackets(text):
    """How many brackets a flow value leaves open, outside quotes."""
    plain = re.sub(r"'(?:[^']|'')*'|\"[^\"]*\"", "", text)
    return sum(plain.count(c) for c in "{[") - sum(plain.count(c) for c in "}]")


class Document:
    def __init__(self, text):
        self.raw = text.split("\n")
        self.at = 0

    def line(self):
        """Indent and text of the next line that says something, or None."""
        while self.at < len(self.raw):
            text = without_comment(self.raw[self.at])
            if text.strip():
                return len(text) - len(text.lstrip(" ")), text.strip()
            self.at += 1
        return None

    def block(self, indent):
        """The mapping or sequence whose lines have this indent."""
        _, text = self.line()
        return self.sequence(indent) if text.startswith("- ") else self.mapping(indent)

    def mapping(self, indent):
        found = {}
        while (here := self.line()) and here[0] == indent and not here[1].startswith("- "):
            match = KEY.match(here[1])
            if not match:
                raise YamlError(f"line {self.at + 1}: no key: {here[1]}")
            self.at += 1
            key = scalar(match[1])
            if key in found:
                raise YamlError(f"line {self.at}: {key} twice")
            found[key] = self.after_key(match[2] or "", indent)
        return found

    def sequence(self, indent):
        found = []
        while (here := self.line()) and here[0] == indent and here[1].startswith("- "):
            inner = here[1][2:].lstrip()
            if inner[0] not in "{['\"" and KEY.match(inner):
                column = indent + len(here[1]) - len(inner)
                self.raw[self.at] = " " * column + inner
                found.append(self.mapping(column))
            else:
                self.at += 1
                found.append(self.after_key(inner, indent))
        return found

    def after_key(self, text, indent):
        if text in ("|", ">", "|-", ">-"):
            return self.block_scalar(text, indent)
        if text[:1] in ("{", "["):
            return self.flow(text)
        if text:
            return scalar(text)
        here = self.line()
        if here and (here[0] > indent or (here[0] == indent and here[1].startswith("- "))):
            return self.block(here[0])
        return None

    def flow(self, text):
        while open_brackets(text) > 0:
            if self.at == len(self.raw):
                raise YamlError(f"a flow value that does not end: {text}")
            text += " " + without_comment(self.raw[self.at]).strip()
            self.at += 1
        return Flow(text).whole()

    def block_scalar(self, style, indent):
        lines = []
        while self.at < len(self.raw):
            raw = self.raw[self.at]
            if raw.strip() and len(raw) - len(raw.lstrip(" ")) <= indent:
                break
            lines.append(raw)
            self.at += 1
        width = min((len(x) - len(x.lstrip(" ")) for x in lines if x.strip()), default=0)
        text = ("\n" if style[0] == "|" else " ").join(x[width:].rstrip() for x in lines).rstrip()
        return text if style.endswith("-") else text + "\n"


def load(text):
    document = Document(text)
    first = document.line()
    if first is None:
        return None
    value = document.block(first[0])
    if document.line() is not None:
        raise YamlError(f"line {document.at + 1}: unexpected indent")
    return value
