"""libgradweave through ctypes: C's names, its errors as exceptions. gradweave.h is the manual."""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Iterator
from ctypes import CFUNCTYPE, POINTER, byref, c_char, c_char_p, c_double, c_int, c_size_t
from ctypes import c_uint64, c_void_p
from pathlib import Path
from typing import SupportsFloat


class GradweaveError(RuntimeError):
    """A failure while something ran: of a rank, the network, memory."""


class BadInput(GradweaveError, ValueError):
    """A question that makes no sense; the message says what would."""


class Error(ctypes.Structure):
    _fields_ = [("message", c_char * 512)]


class Tensor(ctypes.Structure):
    _fields_ = [("name", c_char * 1025), ("elements", c_uint64), ("bytes", c_uint64)]


class Group(ctypes.Structure):
    _fields_ = [("first", c_size_t), ("last", c_size_t)]


class Question(ctypes.Structure):
    _fields_ = [
        ("model", c_char_p),
        ("cluster", c_char_p),
        ("workers", c_size_t),
        ("density", c_double),
        ("no_interference", c_int),
        ("accumulate", c_size_t),
    ]


class PlanSummary(ctypes.Structure):
    _fields_ = [
        ("group_count", c_size_t),
        ("iteration_s", c_double),
        ("lower_bound_s", c_double),
    ]


class Gpu(ctypes.Structure):
    _fields_ = [("ordinal", c_size_t), ("stream", c_void_p)]


class Training(ctypes.Structure):
    _fields_ = [
        ("tensor_count", c_size_t),
        ("elements", POINTER(c_uint64)),
        ("algorithm", c_char_p),
        ("compressor", c_char_p),
        ("exchange", c_char_p),
        ("density", c_double),
        ("groups", POINTER(Group)),
        ("group_count", c_size_t),
        ("average", c_int),
        ("seed", c_uint64),
        ("gpu", POINTER(Gpu)),
        ("names", POINTER(c_char_p)),
        ("numbers", POINTER(c_int)),
        ("ways", POINTER(c_char_p)),
        ("rows", POINTER(c_uint64)),
    ]


class Prediction(ctypes.Structure):
    """The parts of an iteration's time, predicted or measured."""

    _fields_ = [
        ("algorithm", c_char_p),
        ("iteration_s", c_double),
        ("forward_s", c_double),
        ("backward_s", c_double),
        ("compress_s", c_double),
        ("exposed_comm_s", c_double),
        ("other_s", c_double),
        ("comm_s", c_double),
        ("bytes_per_worker", c_double),
        ("group_count", c_size_t),
    ]


class Advised(ctypes.Structure):
    _fields_ = [
        ("algorithm", c_char_p),
        ("density", c_double),
        ("iteration_s", c_double),
        ("expected_s", c_double),
        ("least", c_double),
        ("median", c_double),
        ("most", c_double),
    ]


class Measurement(ctypes.Structure):
    _fields_ = [
        ("algorithm", c_char_p),
        ("name", c_char_p),
        ("groups", POINTER(Group)),
        ("group_count", c_size_t),
        ("measured", Prediction),
        ("prediction", Prediction),
        ("prediction_low_s", c_double),
        ("prediction_high_s", c_double),
        ("error", c_double),
        ("iterations_s", POINTER(c_double)),
        ("iteration_count", c_size_t),
        ("measured_percentiles_s", c_double * 3),
        ("prediction_percentiles_s", c_double * 3),
    ]


class Validation(ctypes.Structure):
    _fields_ = [
        ("iterations", c_size_t),
        ("tolerance", c_double),
        ("path", c_char_p),
        ("noise", c_char_p),
        ("mean_error", c_double),
        ("largest_error", c_double),
    ]


ALLREDUCE = CFUNCTYPE(c_int, c_void_p, c_int, c_void_p, c_void_p, c_size_t)
ALLGATHER = CFUNCTYPE(c_int, c_void_p, c_void_p, c_size_t, c_void_p)
BROADCAST = CFUNCTYPE(c_int, c_void_p, c_int, c_void_p, c_size_t)
ROOTED = CFUNCTYPE(c_int, c_void_p, c_int, c_void_p, c_size_t, c_void_p)
START = CFUNCTYPE(c_int, c_void_p, c_int, c_void_p, c_size_t, POINTER(c_size_t))
WAIT = CFUNCTYPE(c_int, c_void_p, c_size_t)
OPEN_FIRST = CFUNCTYPE(c_int, c_void_p, c_int, POINTER(c_void_p))
COMPLAIN = CFUNCTYPE(c_void_p, c_void_p)
CLOSE = CFUNCTYPE(None, c_void_p)


class ProcessGroup(ctypes.Structure):
    _fields_ = [
        ("name", c_char_p),
        ("rank", c_int),
        ("size", c_int),
        ("context", c_void_p),
        ("allreduce", ALLREDUCE),
        ("allgather", ALLGATHER),
        ("broadcast", BROADCAST),
        ("gather", ROOTED),
        ("scatter", ROOTED),
        ("alltoall", ALLGATHER),
        ("start_send", START),
        ("start_receive", START),
        ("wait", WAIT),
        ("open_first", OPEN_FIRST),
        ("complain", COMPLAIN),
        ("close", CLOSE),
    ]


BACKWARD = CFUNCTYPE(c_int, c_void_p, c_void_p)
PROGRESS = CFUNCTYPE(None, c_void_p, c_double, c_char_p)


class Calibration(ctypes.Structure):
    _fields_ = [
        ("name", c_char_p),
        ("command", c_char_p),
        ("compressor", c_char_p),
        ("only", c_char_p),
        ("density", c_double),
        ("time_s", c_double),
        ("precision", c_double),
        ("max_bytes", c_size_t),
        ("max_elements", c_size_t),
        ("replace", c_int),
        ("add", c_int),
        ("backward", BACKWARD),
        ("backward_context", c_void_p),
        ("session_s", c_double),
        ("session_elements", c_size_t),
        ("progress", PROGRESS),
        ("progress_context", c_void_p),
    ]


def _load() -> ctypes.CDLL:
    """Loads the library that GRADWEAVE_LIBRARY names, else this package's, else the system's."""
    named = os.environ.get("GRADWEAVE_LIBRARY")
    beside = Path(__file__).parent / "libgradweave.so"
    path = named or (str(beside) if beside.exists() else "libgradweave.so.0")
    try:
        return ctypes.CDLL(path)
    except OSError as error:
        raise ImportError(
            f"expected libgradweave beside this package, or its path in GRADWEAVE_LIBRARY: {error}"
        ) from error


library = _load()
_ERROR = POINTER(Error)
_FUNCTIONS = {
    "gradweave_model_tensors": [c_char_p, POINTER(Tensor), POINTER(c_size_t), _ERROR],
    "gradweave_predict": [POINTER(Question), c_char_p, POINTER(Prediction), _ERROR],
    "gradweave_rank": [POINTER(Question), POINTER(Prediction), POINTER(c_size_t), _ERROR],
    "gradweave_advise": [POINTER(Question), POINTER(Advised), POINTER(c_size_t), _ERROR],
    "gradweave_plan_pipeline": [
        POINTER(Question),
        c_char_p,
        c_char_p,
        c_char_p,
        POINTER(Group),
        POINTER(c_size_t),
        POINTER(PlanSummary),
        _ERROR,
    ],
    "gradweave_plan_mixed": [
        POINTER(Question),
        c_char_p,
        c_double,
        c_char_p,
        POINTER(Group),
        POINTER(c_size_t),
        POINTER(c_size_t),
        POINTER(PlanSummary),
        _ERROR,
    ],
    "gradweave_validate": [
        POINTER(Question),
        POINTER(Measurement),
        c_size_t,
        POINTER(Validation),
        _ERROR,
    ],
    "gradweave_join_group": [POINTER(ProcessGroup), POINTER(c_void_p), _ERROR],
    "gradweave_calibrate": [POINTER(Calibration), c_void_p, c_char_p, _ERROR],
    "gradweave_ranks_broadcast": [c_void_p, c_void_p, c_size_t, _ERROR],
    "gradweave_session_check": [POINTER(Training), POINTER(c_size_t), _ERROR],
    "gradweave_session_open": [POINTER(Training), c_void_p, POINTER(c_void_p), _ERROR],
    "gradweave_session_begin": [c_void_p, _ERROR],
    "gradweave_session_ready": [c_void_p, c_size_t, c_void_p, c_void_p, _ERROR],
    "gradweave_session_wait": [c_void_p, _ERROR],
    "gradweave_session_save": [c_void_p, c_void_p, _ERROR],
    "gradweave_session_load": [c_void_p, c_void_p, c_size_t, _ERROR],
    "gradweave_session_add_residual": [c_void_p, c_void_p, c_size_t, _ERROR],
    "gradweave_session_residual": [c_void_p, c_void_p, _ERROR],
    "gradweave_session_verify": [c_void_p, _ERROR],
    "gradweave_session_measure": [c_void_p, POINTER(Prediction), _ERROR],
    "gradweave_session_trace": [c_void_p, c_char_p, _ERROR],
}
for _name, _arguments in _FUNCTIONS.items():
    getattr(library, _name).argtypes = _arguments
for _name in (
    "gradweave_leave",
    "gradweave_pass_gradient",
    "gradweave_session_backward",
    "gradweave_session_close",
):
    getattr(library, _name).argtypes = [c_void_p]
    getattr(library, _name).restype = None
library.gradweave_session_serves.argtypes = [c_void_p]
library.gradweave_session_state_size.argtypes = [c_void_p]
library.gradweave_session_state_size.restype = c_size_t
library.gradweave_session_aggregate.argtypes = [c_void_p, c_size_t]
library.gradweave_session_aggregate.restype = c_void_p
library.gradweave_version.restype = c_char_p
library.gradweave_algorithm_name.argtypes = [c_size_t]
library.gradweave_algorithm_name.restype = c_char_p
library.gradweave_algorithm_has_server.argtypes = [c_size_t]
library.gradweave_algorithm_is_sparse.argtypes = [c_size_t]

_BAD_INPUT = 2


def failure(status: int, error: Error) -> GradweaveError:
    """Returns the error to raise for a status that is not 0."""
    message = error.message.decode(errors="replace")
    return BadInput(message) if status == _BAD_INPUT else GradweaveError(message)


def call(name: str, *arguments) -> None:
    """Calls a function that returns a status and takes an error last."""
    error = Error()
    status = getattr(library, name)(*arguments, byref(error))
    if status != 0:
        raise failure(status, error)


@contextlib.contextmanager
def file_errors(
    path: str | os.PathLike[str], done: str, kind: type[GradweaveError] = GradweaveError
) -> Iterator[None]:
    """Raises that the file cannot be read, written or made, in the words of C's errors."""
    try:
        yield
    except OSError as error:
        raise kind(f"{path}: cannot be {done}: {error.strerror}") from error


def check_density(given: SupportsFloat) -> None:
    """Fails unless it is a share of elements; C would take 0 for the default."""
    if not isinstance(given, SupportsFloat) or not 0 < float(given) <= 1:
        raise BadInput(f"density: expected a number in (0, 1], got {given!r}")


def version() -> str:
    """Returns libgradweave's version."""
    return library.gradweave_version().decode()


def algorithms() -> list[str]:
    """Lists the names of all pipelines."""
    names = []
    while (name := library.gradweave_algorithm_name(len(names))) is not None:
        names.append(name.decode())
    return names


def has_server(algorithm: str) -> bool:
    """Returns whether a rank that does not train takes part."""
    return bool(library.gradweave_algorithm_has_server(algorithms().index(algorithm)))


def is_sparse(algorithm: str) -> bool:
    """Returns whether gradients are compressed before they travel."""
    return bool(library.gradweave_algorithm_is_sparse(algorithms().index(algorithm)))
