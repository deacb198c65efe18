#!/usr/bin/env bash
# dist.set_timeout changes how long gloo's collectives wait, and not how long its messages do.
#
# Versions: PyTorch 2.15.0 (PyPI) on CPU, gloo, 2 ranks.
#
# One would guess: a group has one timeout. set_timeout changes it, the group's options show the new one, and all that waits
# for a rank that does not come fails by it.
#
# What happens: collectives that begin later fail by the new timeout. Messages (send, recv, isend, irecv) keep the one that
# the group was made with, since each connection has it from when it was made.
#
# Why it matters: pipelines of stages exchange activations by messages and gradients by collectives. A job that is started with
# a long timeout, for compilation or loading, and shortens it behind the first step, still hangs for the long one where a
# stage is lost; one that lengthens it for a slow step is ended there all the same.
#
# Output seen (group made with 9 s, set to 2 s, the other rank asleep):
#
#    timeout of the group's options: 0:00:02
#    all_reduce: fails after 2 s
#    timeout of the group's options: 0:00:02
#    irecv: fails after 9 s
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -c 'import ensurepip, venv' 2>/dev/null || { apt-get update -qq; apt-get install -y -qq python3-venv >/dev/null; }
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet torch==2.15.0 numpy==2.4.6

cat > "$folder/job.py" <<'EOJ'
import sys
import time
from datetime import timedelta
import torch
import torch.distributed as dist

dist.init_process_group("gloo", timeout=timedelta(seconds=9))
dist.all_reduce(torch.ones(1))
dist.set_timeout(timedelta(seconds=2))
if dist.get_rank() == 1:
    time.sleep(15)
    sys.exit()
print("timeout of the group's options:", dist.group.WORLD._get_backend(torch.device("cpu")).options._timeout)
began = time.monotonic()
try:
    if sys.argv[1] == "irecv":
        dist.irecv(torch.ones(1), 1).wait()
    else:
        dist.all_reduce(torch.ones(1))
    outcome = "no error"
except RuntimeError:
    outcome = f"fails after {time.monotonic() - began:.0f} s"
print(f"{sys.argv[1]}: {outcome}")
EOJ
for what in all_reduce irecv; do
    OMP_NUM_THREADS=1 "$folder/venv/bin/python" -m torch.distributed.run --standalone --nproc-per-node 2 "$folder/job.py" "$what"
done | tee "$folder/seen"
sed -n 's/^#    //p' "$0" | diff - "$folder/seen"
