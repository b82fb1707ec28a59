"""The serving-benchmark harness: speculative server against matched target-only server, over HTTP."""
