"""When requests are due: absolute times from a law or from a trace, the same for every arm."""
