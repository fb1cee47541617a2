# SPDX-License-Identifier: MIT
"""Frames, values and errors of the protocol (PROTOCOL.md, sections 1, 2 and 4)."""
import base64
import binascii
import errno
import json
import threading

PROTOCOL = 1
MAX_FRAME = 64 * 1024 * 1024
SAFE = 2 ** 53 - 1

CODES = {
    "invalid": -1, "unsupported": -2, "not-found": -3, "gone": -4, "denied": -5, "conflict": -6, "rate-limited": -7,
    "unavailable": -8, "aborted": -9, "timed-out": -10, "protocol": -11, "unknown-outcome": -12, "io": -13,
    "internal": -14,
}
NAMES = {code: name for name, code in CODES.items()}
NAMES.update({-32601: "unsupported", -32602: "invalid", -32603: "internal", -32700: "protocol", -32600: "protocol"})

SYSTEM = {
    errno.ENOENT: "not-found", errno.EACCES: "denied", errno.EPERM: "denied", errno.EROFS: "denied",
    errno.EEXIST: "conflict", errno.ENOTDIR: "conflict", errno.EISDIR: "conflict", errno.ENOTEMPTY: "conflict",
    errno.EBUSY: "conflict", errno.ELOOP: "conflict", errno.EINVAL: "invalid", errno.ENAMETOOLONG: "invalid",
    errno.EPIPE: "gone", errno.ECONNREFUSED: "unavailable", errno.ECONNRESET: "unavailable",
}


class DriverError(Exception):
    """An answer of the protocol: `code` is its name ("not-found"), `data` what else is known (detail, errno, ...)."""

    def __init__(self, code, message, **data):
        super().__init__(message)
        if code not in CODES:
            raise ValueError(f"{code!r} is no code of the protocol")
        self.code = code
        self.message = message
        self.data = data


def error_to_wire(error):
    """The error member of an answer. An OSError is understood; every other exception is a fault of the driver."""
    if isinstance(error, DriverError):
        name, data = error.code, dict(error.data)
    elif isinstance(error, OSError) and error.errno is not None:
        name, data = SYSTEM.get(error.errno, "io"), {"errno": error.errno}
    else:
        name, data = "internal", {}
    message = getattr(error, "message", None) or str(error) or type(error).__name__
    return {"code": CODES[name], "message": clean(message), "data": {"name": name, **data}}


def error_from_wire(wire):
    data = {name: value for name, value in wire.get("data", {}).items() if name not in ("name", "code")}
    return DriverError(NAMES.get(wire.get("code"), "protocol"), wire.get("message", ""), **data)


def clean(text):
    """Text that passes the wire: no NUL, no half of a surrogate pair."""
    return text.encode("utf-8", "replace").decode("utf-8").replace("\0", "\ufffd")


def to_bytes(value):
    """bytes (or text) as they go on the wire."""
    if isinstance(value, str):
        value = value.encode("utf-8", "surrogateescape")
    try:
        if b"\0" not in value:
            return bytes(value).decode("utf-8")
    except UnicodeDecodeError:
        pass
    return {"base64": base64.b64encode(value).decode("ascii")}


def bytes_of(value, what):
    """Bytes of the wire; `what` names the member in the error."""
    if isinstance(value, str):
        return value.encode("utf-8")
    try:
        return base64.b64decode(value["base64"], validate=True)
    except (TypeError, KeyError, ValueError, binascii.Error):
        raise DriverError("invalid", f"{what} is neither a text nor {{\"base64\": ...}}") from None


def to_int(value):
    """An integer as it goes on the wire: digits beyond what a double holds."""
    return value if -SAFE <= value <= SAFE else str(value)


def int_of(value, what):
    if isinstance(value, bool) or not isinstance(value, (int, str)):
        raise DriverError("invalid", f"{what} is {value!r} and no integer")
    try:
        return int(value)
    except ValueError:
        raise DriverError("invalid", f"{what} is {value!r} and no integer") from None


def env_of(value):
    """Variables of the wire as a dict of bytes."""
    return {name: bytes_of(data, f"the value of {name}") for name, data in (value or {}).items()}


def env_to_wire(env):
    return {name: to_bytes(value) for name, value in (env or {}).items()}


class Frames:
    """One JSON object a line over two binary files. Writing is safe from any thread."""

    def __init__(self, source, sink):
        self.source = source
        self.sink = sink
        self.limit = MAX_FRAME
        self.lock = threading.Lock()

    def read(self):
        """The next object; None at the end of the channel."""
        line = self.source.readline(MAX_FRAME + 1)
        if not line:
            return None
        if not line.endswith(b"\n"):
            raise DriverError("protocol", "the channel ended within a line, or the line is too long")
        try:
            frame = json.loads(line.decode("utf-8"))
        except ValueError as error:
            raise DriverError("protocol", f"a line that is no JSON: {error}") from None
        if not isinstance(frame, dict):
            raise DriverError("protocol", "a line that is no JSON object")
        return frame

    def write(self, frame):
        """Writes an object; DriverError "invalid", with nothing written, when it is beyond the other side's limit."""
        data = json.dumps(frame, ensure_ascii=False, separators=(",", ":")).encode("utf-8") + b"\n"
        if len(data) > self.limit:
            raise DriverError("invalid", f"a message of {len(data)} bytes; the limit is {self.limit}")
        with self.lock:
            self.sink.write(data)
            self.sink.flush()
