"""What a mock server is told to do."""

from dataclasses import dataclass
from enum import StrEnum

from verispec_bench.errors import UnusableInput


class Fault(StrEnum):
    """How a request fails.

    The first two answer at once with that status. The others begin as a good answer and go wrong at its middle: the
    connection is reset, the answer ends without a finish reason, an error object comes inside the 200 stream, or
    nothing comes any more.
    """

    HTTP_503 = "503"
    HTTP_429 = "429"
    RESET = "reset"
    TRUNCATE = "truncate"
    STREAM_ERROR = "stream-error"
    HANG = "hang"


@dataclass(frozen=True)
class MockSettings:
    """Timing, length and faults of the answers.

    Attributes:
        model: served model id.
        ttft_ms: from the request's arrival, or its release from the queue, to its first chunk.
        tokens_per_second: of each stream, after its first chunk.
        tokens_per_chunk: tokens that come together.
        jitter: coefficient of variation of the time to the first chunk and of each gap (gamma); 0: exact.
        output_len: tokens of an answer whose request names no limit.
        error_rate: share of requests that fail.
        error_kind: how they fail.
        max_running: requests answered at a time, the others wait in arrival order; None: no limit.
        seed: of jitter and faults. Both depend on it and on the request's number alone.

    Raises:
        UnusableInput: a value outside its range, named as on the command line.

    """

    model: str = "mock"
    ttft_ms: float = 200.0
    tokens_per_second: float = 20.0
    tokens_per_chunk: int = 1
    jitter: float = 0.0
    output_len: int = 64
    error_rate: float = 0.0
    error_kind: Fault = Fault.HTTP_503
    max_running: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        for flag, value, good, wanted in (
            ("--model", self.model, bool(self.model), "a name"),
            ("--ttft-ms", self.ttft_ms, 0 <= self.ttft_ms <= 3_600_000, "from 0 to 3600000"),
            (
                "--tokens-per-second",
                self.tokens_per_second,
                0.001 <= self.tokens_per_second <= 1_000_000,
                "from 0.001 to 1000000",
            ),
            ("--tokens-per-chunk", self.tokens_per_chunk, self.tokens_per_chunk >= 1, "1 or more"),
            ("--jitter", self.jitter, self.jitter == 0 or 0.001 <= self.jitter <= 10, "0, or from 0.001 to 10"),
            ("--output-len", self.output_len, 1 <= self.output_len <= 1_000_000, "from 1 to 1000000"),
            ("--error-rate", self.error_rate, 0 <= self.error_rate <= 1, "from 0 to 1"),
            ("--max-running", self.max_running, self.max_running is None or self.max_running >= 1, "1 or more"),
        ):
            if not good:
                raise UnusableInput(f"{flag} {value}: must be {wanted}")
