"""Service-level objectives: which latencies a request must keep to be good."""

import math
from dataclasses import asdict, dataclass

from verispec_bench.client.record import RequestRecord
from verispec_bench.errors import UnusableInput
from verispec_bench.measure import latency
from verispec_bench.measure.metric import MissingError

_LIMITED = {"ttft_ms": latency.ttft_s, "tpot_ms": latency.tpot_s, "e2el_ms": latency.e2el_s}


@dataclass(frozen=True)
class Slo:
    """Limits in milliseconds; None: no limit."""

    ttft_ms: float | None = None
    tpot_ms: float | None = None
    e2el_ms: float | None = None

    @classmethod
    def parse(cls, text: str, where: str = "--goodput") -> "Slo":
        """From vLLM's form: "ttft:200 tpot:50".

        Raises:
            UnusableInput: anything else, in one line that begins with `where`.

        """
        limits: dict[str, float] = {}
        for pair in text.split():
            name, colon, limit = pair.partition(":")
            if f"{name}_ms" not in _LIMITED or not colon:
                raise UnusableInput(f"{where}: {pair}: give ttft:MS, tpot:MS or e2el:MS, with spaces between")
            if f"{name}_ms" in limits:
                raise UnusableInput(f"{where}: {name} is given twice")
            limits[f"{name}_ms"] = _limit(limit, f"{where}: {pair}")
        if not limits:
            raise UnusableInput(f"{where}: is empty; give ttft:MS, tpot:MS or e2el:MS")
        return cls(**limits)

    def met(self, record: RequestRecord) -> bool:
        """Completed within every limit. An answer that came in one piece has no time per token to be too long.

        Raises:
            MissingError: a limited latency cannot be known.

        """
        return record.ok and all(
            self._within(record, name, limit) for name, limit in asdict(self).items() if limit is not None
        )

    @staticmethod
    def _within(record: RequestRecord, name: str, limit_ms: float) -> bool:
        seconds = _LIMITED[name](record)
        if seconds is None and name == "tpot_ms" and latency.tokens_after_the_first_chunk(record) == 0:
            return True
        if seconds is None:
            raise MissingError(name)
        return 1000 * seconds <= limit_ms


def _limit(text: str, where: str) -> float:
    try:
        limit = float(text)
    except ValueError:
        limit = math.nan
    if not 0 < limit < math.inf:
        raise UnusableInput(f"{where}: the limit must be a number of milliseconds above 0")
    return limit
