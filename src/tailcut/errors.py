"""The errors a user can cause: each names what was wrong and what was expected.

All derive from `TailcutError`, so one ``except`` catches them, and the input errors are also
`ValueError`, so code that knows nothing of Tailcut handles them as usual.
"""

from collections.abc import Iterable


class TailcutError(Exception):
    """Base of every error that Tailcut raises on purpose."""


class InputError(TailcutError, ValueError):
    """A value handed in is not what was asked for.

    >>> InputError("cutoff must be a finite number of seconds > 0, got -1", field="cutoff").field
    'cutoff'
    """

    def __init__(self, message: str, *, field: str | None = None) -> None:
        super().__init__(message)
        self.field = field
        """The parameter at fault, by its name; None where no single one is."""


class UnknownDecisionError(TailcutError, LookupError):
    """Feedback for a decision this selector does not know (any more)."""


class ConflictingOutcomeError(TailcutError, ValueError):
    """A second, different outcome for a decision that was already observed."""


class OutOfTurnError(InputError):
    """A schedule was to continue before the last outcome was known, or twice from the same point."""


class NotExplainedError(TailcutError, LookupError):
    """A decision cannot be explained: what it was made with is gone."""


class StateFileError(TailcutError, ValueError):
    """A saved state is damaged, foreign, or written by a newer version."""


class JournalError(TailcutError, OSError):
    """A journal cannot be opened, read or written."""

    def __init__(self, message: str, *, full: bool = False) -> None:
        super().__init__(message)
        self.full = full
        """Whether the disk had no room left."""


class ServiceError(TailcutError, OSError):
    """The service refused a request, or could not be reached."""

    def __init__(self, message: str, *, status: int | None = None, field: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        """The answer's HTTP status; None: there was no answer."""
        self.field = field
        """The field at fault, if the service named one."""


class PortfolioError(TailcutError, ValueError):
    """A portfolio file does not say what it should."""


class ScenarioError(TailcutError, ValueError):
    """A scenario's files are malformed or contradict each other."""


class NotRuntimeError(ScenarioError):
    """A scenario is sound, but about the quality of solutions and not about runtimes."""


class FormulaError(TailcutError, ValueError):
    """A file is no formula in DIMACS format, or cannot be read."""


class CompilerError(TailcutError, RuntimeError):
    """A part that is compiled on first use could not be: no compiler, or it failed."""


class DownloadError(TailcutError, OSError):
    """A file could not be fetched, or what arrived is not what was announced."""


class WorkerDiedError(TailcutError, RuntimeError):
    """A process that computed for us ended without a word."""


class UnsupportedSystemError(TailcutError, RuntimeError):
    """The system lacks what is needed to run solvers under limits."""


class LiveError(TailcutError, RuntimeError):
    """A run has no outcome: the processes that watched it were ended from outside."""


class MissingExtraError(TailcutError, ImportError):
    """An optional dependency is needed and not installed."""


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """Return a question that names what is spelled most like `name`, empty if nothing is.

    >>> did_you_mean("thomson", ["thompson", "random"])
    " (did you mean 'thompson'?)"
    """
    from difflib import get_close_matches  # only mistakes need it

    close = get_close_matches(str(name), known, n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""
