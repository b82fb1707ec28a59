"""Goodput: how many requests per second were answered as fast as was promised."""

from collections.abc import Callable, Iterable, Sequence

from verispec_bench.client import RequestRecord
from verispec_bench.errors import UnusableInput
from verispec_bench.measure import latency

_LATENCIES: dict[str, Callable[[RequestRecord], float | None]] = {
    "ttft": latency.ttft_s,
    "tpot": latency.tpot_s,
    "e2el": latency.e2el_s,
}


def parse_goodput(texts: Iterable[str]) -> dict[str, float]:
    """Promises in milliseconds by latency, from "ttft:200 tpot:50".

    Raises:
        UnusableInput: another latency, or no number above 0.

    """
    promises = {}
    for text in (part for given in texts for part in given.split()):
        name, _, value = text.partition(":")
        try:
            promises[name] = float(value)
        except ValueError:
            promises[name] = 0.0
        if name not in _LATENCIES or not promises[name] > 0:
            raise UnusableInput(f"--goodput {text}: is not {'|'.join(_LATENCIES)}:MILLISECONDS")
    return promises


def request_goodput(records: Sequence[RequestRecord], promises: dict[str, float], duration_s: float) -> float | None:
    """Completed requests that kept every promise, per second; None without promises or time.

    An answer of one token has no time per output token, and keeps every promise of it.
    """
    if not promises or not duration_s:
        return None
    return sum(_kept(record, promises) for record in records if record.ok) / duration_s


def _kept(record: RequestRecord, promises: dict[str, float]) -> bool:
    for name, promised_ms in promises.items():
        value = _LATENCIES[name](record)
        if name == "tpot" and record.completion_tokens == 1:
            continue
        if value is None or 1000 * value > promised_ms:
            return False
    return True
