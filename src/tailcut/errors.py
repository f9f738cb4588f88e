"""The errors a user can cause: each names what was wrong and what was expected.

All derive from `TailcutError`, so one ``except`` catches them, and the input errors are also
`ValueError`, so code that knows nothing of Tailcut handles them as usual.
"""

from collections.abc import Iterable


class TailcutError(Exception):
    """Base of every error that Tailcut raises on purpose."""


class InputError(TailcutError, ValueError):
    """An argument is invalid.

    >>> InputError("cutoff must be a finite number of seconds > 0, got -1", field="cutoff").field
    'cutoff'
    """

    def __init__(self, message: str, *, field: str | None = None) -> None:
        super().__init__(message)
        self.field = field
        """The name of the parameter at fault; None if there is no single one."""


class UnknownDecisionError(TailcutError, LookupError):
    """Feedback for a decision that this selector does not know, or no longer knows."""


class ConflictingOutcomeError(TailcutError, ValueError):
    """A second, different outcome for a decision that was already observed."""


class RepeatedKeyError(TailcutError, ValueError):
    """A key that was already used, for another request."""


class OutOfTurnError(InputError):
    """`proceed` was called before the last outcome was known, or twice on the same decision."""


class ConcurrentUseError(TailcutError, RuntimeError):
    """Two threads used one selector at the same time."""


class NotExplainedError(TailcutError, LookupError):
    """A decision cannot be explained, because its selector or features are gone."""


class StateFileError(TailcutError, ValueError):
    """A saved selector is damaged, not one of Tailcut's, or of an unsupported format."""


class JournalError(TailcutError, OSError):
    """A journal cannot be opened, read or written."""

    def __init__(self, message: str, *, full: bool = False, uncertain: bool = False) -> None:
        super().__init__(message)
        self.full = full
        """Whether the disk was full."""
        self.uncertain = uncertain
        """Whether the last steps may have been written all the same."""


class ServiceError(TailcutError, OSError):
    """The service refused a request, or could not be reached."""

    def __init__(self, message: str, *, status: int | None = None, field: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        """The HTTP status of the response; None if there was no response."""
        self.field = field
        """The field at fault, if the service named one."""


class PortfolioError(TailcutError, ValueError):
    """A portfolio file is invalid."""


class ScenarioError(TailcutError, ValueError):
    """A scenario's files are malformed or contradict each other."""


class NotRuntimeError(ScenarioError):
    """A scenario is valid, but it measures solution quality instead of runtimes."""


class FormulaError(TailcutError, ValueError):
    """A file is not a formula in DIMACS format, or cannot be read."""


class CompilerError(TailcutError, RuntimeError):
    """A part that is compiled on first use could not be compiled: no compiler, or it failed."""


class DownloadError(TailcutError, OSError):
    """A file could not be fetched, or what arrived is not what was announced."""


class WorkerDiedError(TailcutError, RuntimeError):
    """A worker process ended unexpectedly."""


class UnsupportedSystemError(TailcutError, RuntimeError):
    """The system cannot run solvers under limits."""


class LiveError(TailcutError, RuntimeError):
    """A run could not be started, or has no outcome for a reason that is not its program."""


class MissingExtraError(TailcutError, ImportError):
    """An optional dependency is required but not installed."""


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """Return a "did you mean" question with the closest spelling, empty if nothing is close.

    >>> did_you_mean("thomson", ["thompson", "random"])
    " (did you mean 'thompson'?)"
    """
    from difflib import get_close_matches  # only errors need it

    close = get_close_matches(str(name), known, n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""
