"""A custom logits processor, as a user of vLLM would write one: it knows the committed output only."""

import torch
from vllm.v1.sample.logits_processor import AdapterLogitsProcessor


def forbid_repeating(output_token_ids: list[int], logits: torch.Tensor) -> torch.Tensor:
    if output_token_ids:
        logits[output_token_ids[-1]] = -torch.inf
    return logits


class ForbidRepeating(AdapterLogitsProcessor):
    """Requests with extra_args {"forbid_repeating": true} never get the same token twice in a row."""

    def is_argmax_invariant(self) -> bool:
        return False

    def new_req_logits_processor(self, params):
        return forbid_repeating if (params.extra_args or {}).get("forbid_repeating") else None
