"""The faults a user can cause or meet, each with its exit code. The message is one line: what, where, what to do."""


class VerispecError(Exception):
    """A foreseeable fault, shown to the user without a traceback."""

    exit_code = 1


class UnusableInput(VerispecError):
    """The input cannot be used: a file, an option, a directory."""

    exit_code = 2


class InfrastructureFailed(VerispecError):
    """A server, a port, a machine failed; what was measured before is kept."""

    exit_code = 3
