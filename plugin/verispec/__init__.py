"""Speculative decoding for vLLM that is safe to turn on."""
