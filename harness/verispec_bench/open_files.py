"""Each connection is an open file, and systems allow a process few by default."""

import resource


def allow_many_connections() -> None:
    """As many open files as the system allows this process."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
