"""When each chunk of an answer is due, and which requests fail: functions of the settings and the request's number."""

from random import Random

from verispec_bench.mock.settings import Fault, MockSettings


class Schedule:
    """Due times and faults of all requests; the same for the same settings, whatever came when."""

    def __init__(self, settings: MockSettings) -> None:
        self._settings = settings

    def due_times_s(self, number: int, num_tokens: int) -> list[float]:
        """Seconds from a request's start to each of its chunks: absolute times, so that lateness never adds up.

        With jitter the gaps are independent gamma variables of the stated mean and coefficient of variation.
        """
        settings = self._settings
        chunks = -(-num_tokens // settings.tokens_per_chunk)
        ttft, gap = settings.ttft_ms / 1000, settings.tokens_per_chunk / settings.tokens_per_second
        if not settings.jitter:
            return [ttft + gap * index for index in range(chunks)]
        random, shape = self._random(number, "jitter"), settings.jitter**-2
        due, times = 0.0, []
        for mean in (ttft, *[gap] * (chunks - 1)):
            due += random.gammavariate(shape, mean / shape) if mean else 0.0
            times.append(due)
        return times

    def fault(self, number: int) -> Fault | None:
        """How this request fails; None: not at all."""
        settings = self._settings
        if settings.error_rate and self._random(number, "fault").random() < settings.error_rate:
            return settings.error_kind
        return None

    def _random(self, number: int, purpose: str) -> Random:
        """Faults do not depend on whether there is jitter."""
        return Random(f"{self._settings.seed} {number} {purpose}")
