"""Server-sent events, framed as the HTML standard says (9.2.6), from bytes cut anywhere."""


class EventParser:
    """Collects the data of events; comments and other fields are skipped."""

    def __init__(self) -> None:
        self._bytes = b""
        self._data: list[str] = []

    def feed(self, received: bytes) -> list[str]:
        """The data of every event that these bytes complete."""
        self._bytes += received
        # A carriage return at the end may be half of a CRLF: wait for what follows it.
        ready = len(self._bytes) - self._bytes.endswith(b"\r")
        text, held = self._bytes[:ready], self._bytes[ready:]
        *lines, rest = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        self._bytes = rest + held
        return [event for line in lines if (event := self._line(line.decode("utf-8", "replace"))) is not None]

    def _line(self, line: str) -> str | None:
        """The finished event's data, if this line is the blank one that ends it."""
        if not line:
            data, self._data = self._data, []
            return "\n".join(data) if data else None
        field, _, value = line.partition(":")
        if field == "data":
            self._data.append(value.removeprefix(" "))
        return None
