"""JSON that loses nothing.

Numbers keep their value: integers of any size are int, a number that no float can hold is Decimal, and Decimals are written digit for
digit. The exact text of a member of an answer stays available (`Answer.member_text`).
"""

from __future__ import annotations

import json
import math
from decimal import Decimal
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any, Callable, List, Optional, Set, Tuple, Union

from .errors import Invalid

Path = Tuple[Union[str, int], ...]


class RawJson:
    """A JSON text that is put into a request as it is."""

    def __init__(self, text: str) -> None:
        try:
            json.loads(text, parse_int=str, parse_float=str, parse_constant=_no_constant)
        except (ValueError, RecursionError) as error:
            raise Invalid(f"not a JSON text: {error}", "invalid_json") from None
        self.text = text

    @classmethod
    def trusted(cls, text: str) -> "RawJson":
        """Of a text that was just written."""
        made = cls.__new__(cls)
        made.text = text
        return made


class _NeedsCare(Exception):
    """The value has something in it that the fast encoder does not know."""


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON number")


def _refuse(value: object) -> Any:
    if isinstance(value, (Decimal, RawJson)):
        raise _NeedsCare
    raise Invalid(f"a {type(value).__name__} cannot be written as JSON", "invalid_json")


_fast = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_refuse)


def encode_text(value: object) -> str:
    """Raises Invalid for what JSON does not have: NaN, cycles, bytes, sets, keys that are not text."""
    try:
        try:
            return _fast.encode(value)
        except _NeedsCare:
            out: List[str] = []
            _write(value, out, set())
            return "".join(out)
    except (ValueError, TypeError, RecursionError) as error:
        raise Invalid(f"this cannot be written as JSON: {error}", "invalid_json") from None


def encode(value: object) -> bytes:
    return to_bytes(encode_text(value))


def to_bytes(text: str) -> bytes:
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        raise Invalid("a text has half of a surrogate pair in it, which is not Unicode", "invalid_json") from None


def _write(value: object, out: List[str], above: Set[int]) -> None:
    if isinstance(value, RawJson):
        out.append(value.text)
    elif isinstance(value, Decimal):
        if not value.is_finite():
            raise ValueError(f"{value} is not a JSON number")
        out.append(str(value))
    elif isinstance(value, dict):
        _write_members(value, "{}", out, above)
    elif isinstance(value, (list, tuple)):
        _write_members(value, "[]", out, above)
    else:
        out.append(_fast.encode(value))


def _write_members(value: Any, brackets: str, out: List[str], above: Set[int]) -> None:
    if id(value) in above:
        raise ValueError("Circular reference detected")
    above.add(id(value))
    out.append(brackets[0])
    for place, member in enumerate(value):
        if place:
            out.append(",")
        if isinstance(value, dict):
            out.append(_key(member) + ":")
            member = value[member]
        _write(member, out, above)
    out.append(brackets[1])
    above.discard(id(value))


def _key(key: object) -> str:
    """As the fast encoder writes it."""
    text = _fast.encode({key: 0})
    return text[1:-3]


# --- reading -----------------------------------------------------------------------------------------------------------


def _float(text: str) -> Any:
    number = float(text)
    return number if math.isfinite(number) else Decimal(text)


def _int(text: str) -> Any:
    try:
        return int(text)
    except ValueError:  # Python reads at most 4,300 digits
        return Decimal(text)


def loads_float(text: str) -> Any:
    try:
        return json.loads(text, parse_float=_float)
    except json.JSONDecodeError:
        raise
    except ValueError:
        return json.loads(text, parse_float=_float, parse_int=_int)


def loads_decimal(text: str) -> Any:
    return json.loads(text, parse_float=Decimal, parse_int=_int)


Loads = Callable[[str], Any]

_skip = json.JSONDecoder(parse_int=str, parse_float=str).raw_decode
_SPACE = " \t\r\n"


def _past_space(text: str, at: int) -> int:
    while text[at] in _SPACE:
        at += 1
    return at


def _find_key(text: str, at: int, key: str) -> Optional[int]:
    at = _past_space(text, at + 1)
    while text[at] == '"':
        name, at = scanstring(text, at + 1, True)
        at = _past_space(text, _past_space(text, at) + 1)  # behind the colon
        if name == key:
            return at
        at = _past_space(text, _skip(text, at)[1])
        if text[at] == ",":
            at = _past_space(text, at + 1)
    return None


def _find_index(text: str, at: int, index: int) -> Optional[int]:
    at = _past_space(text, at + 1)
    while text[at] != "]":
        if index == 0:
            return at
        index -= 1
        at = _past_space(text, _skip(text, at)[1])
        if text[at] == ",":
            at = _past_space(text, at + 1)
    return None


def member_text(text: str, path: Path) -> Optional[str]:
    """The text of a member, byte for byte; None if there is none. The text is well formed: it was read before."""
    at: Optional[int] = _past_space(text, 0)
    for step in path:
        if at is None:
            return None
        if isinstance(step, int):
            at = _find_index(text, at, step) if text[at] == "[" else None
        else:
            at = _find_key(text, at, step) if text[at] == "{" else None
    return None if at is None else text[at : _skip(text, at)[1]]
