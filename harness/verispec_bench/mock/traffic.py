"""What is running and what was served, under vLLM's names: GET /metrics."""

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric


class Traffic:
    """Counts requests and tokens; they only grow, whatever is reset elsewhere."""

    def __init__(self, model: str) -> None:
        self._labels = {"engine": "0", "model_name": model}
        self._in_server = self.running = 0
        self._prompt_tokens = self._generation_tokens = 0
        self._finished: Counter[str] = Counter()
        self._registry = CollectorRegistry()
        self._registry.register(self)

    @contextmanager
    def waits(self) -> Iterator[None]:
        """A request is in the server, waiting or running."""
        self._in_server += 1
        try:
            yield
        finally:
            self._in_server -= 1

    @contextmanager
    def runs(self, prompt_tokens: int) -> Iterator[None]:
        """A request is answered."""
        self.running += 1
        self._prompt_tokens += prompt_tokens
        try:
            yield
        finally:
            self.running -= 1

    def generated(self, num_tokens: int) -> None:
        """So many tokens were sent."""
        self._generation_tokens += num_tokens

    def finished(self, reason: str) -> None:
        """A request was answered whole."""
        self._finished[reason] += 1

    def exposition(self) -> bytes:
        """In Prometheus's text form."""
        return generate_latest(self._registry)

    def collect(self) -> Iterable[Metric]:
        """For prometheus_client."""
        names, values = list(self._labels), list(self._labels.values())
        for gauge, now in (("running", self.running), ("waiting", self._in_server - self.running)):
            metric = GaugeMetricFamily(f"vllm:num_requests_{gauge}", f"Requests {gauge}.", labels=names)
            metric.add_metric(values, now)
            yield metric
        for counter, total in (("prompt", self._prompt_tokens), ("generation", self._generation_tokens)):
            tokens = CounterMetricFamily(f"vllm:{counter}_tokens", f"{counter.capitalize()} tokens.", labels=names)
            tokens.add_metric(values, total)
            yield tokens
        success = CounterMetricFamily(
            "vllm:request_success", "Requests answered whole.", labels=[*names, "finished_reason"]
        )
        for reason in ("length", "stop"):
            success.add_metric([*values, reason], self._finished[reason])
        yield success
