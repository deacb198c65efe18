"""Times of OpenBLAS's products P = M Q and Q = M^T P, as numpy calls it, of a rank and shapes, to
lay beside those of bench/low_rank: the least of 15.

    OPENBLAS_NUM_THREADS=1 python bench/low_rank_blas.py RANK ROWS COLUMNS [ROWS COLUMNS]...
"""

import sys
import time

import numpy as np

REPEATS = 15


def least_ms(product) -> float:
    took_s = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        product()
        took_s.append(time.perf_counter() - began)
    return 1e3 * min(took_s)


def main() -> None:
    rank, *lengths = map(int, sys.argv[1:])
    generator = np.random.default_rng(1)
    for rows, columns in zip(lengths[::2], lengths[1::2]):
        m, q = (generator.standard_normal((n, columns), np.float32) for n in (rows, rank))
        p = np.empty((rows, rank), np.float32)
        right = np.empty((columns, rank), np.float32)
        first = least_ms(lambda: np.matmul(m, q.T, out=p))
        second = least_ms(lambda: np.matmul(m.T, p, out=right))
        print(f"{rows} x {columns}: P = M Q {first:.3f} ms, Q = M^T P {second:.3f} ms")


if __name__ == "__main__":
    main()
