"""What a request says of drafting, in `vllm_xargs`.

`{"verispec": "off"}` goes without drafts, "on" asks for them; `{"verispec_tenant": "a"}` may be drafted for from what
was answered to this tenant, and to nobody else. Requests that name none have each other's.
"""

from typing import Any

from verispec.engine.logits_processors import rows_with_custom_processors

KEY = "verispec"
TENANT_KEY = "verispec_tenant"
CHOICES = ("on", "off")


def rows_without_drafts(runner: Any, by_default: bool) -> set[int]:
    """Batch rows of requests that must or want to go without drafts."""
    batch = runner.input_batch
    return rows_with_custom_processors(batch.logitsprocs, batch.num_reqs) | {
        row
        for row, request_id in enumerate(batch.req_ids)
        if not wants_drafts(runner.requests[request_id].sampling_params, by_default)
    }


def wants_drafts(sampling_params: Any, by_default: bool) -> bool:
    """Whether this request may be drafted for, as far as it is for the request to say."""
    choice = _choice(sampling_params)
    return by_default if choice is None else choice == "on"


def check_choice(sampling_params: Any) -> None:
    """Refuse anything else before it reaches the engine.

    Raises:
        ValueError: naming the key and the choices; vLLM answers with HTTP 400.

    """
    choice = _choice(sampling_params)
    if choice is not None and choice not in CHOICES:
        raise ValueError(f'vllm_xargs.{KEY} is {choice!r}; it may be "on" or "off"')
    tenant = tenant_of(sampling_params)
    if tenant is not None and not isinstance(tenant, str):
        raise ValueError(f"vllm_xargs.{TENANT_KEY} is {tenant!r}; it must be a string")


def tenant_of(sampling_params: Any) -> str | None:
    """Whom this request is for, as far as it says."""
    return _further(sampling_params).get(TENANT_KEY)


def _choice(sampling_params: Any) -> Any:
    return _further(sampling_params).get(KEY)


def _further(sampling_params: Any) -> dict[str, Any]:
    return getattr(sampling_params, "extra_args", None) or {}
