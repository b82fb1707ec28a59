"""What a request says of drafting: `"vllm_xargs": {"verispec": "off"}` goes without drafts, "on" asks for them."""

from typing import Any

KEY = "verispec"
CHOICES = ("on", "off")


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


def _choice(sampling_params: Any) -> Any:
    return (getattr(sampling_params, "extra_args", None) or {}).get(KEY)
