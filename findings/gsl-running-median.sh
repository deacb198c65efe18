#!/usr/bin/env bash
# GSL's running median stays far above a series that has been constant for most of its length, after a slow start.
#
# Versions: GSL 2.7.1 (Debian 12, 2.7.1+dfsg-5+deb12u1), gsl_rstat_quantile.
#
# One would guess: a median cares little for a slow start. Once more than half of the samples are 1 it is 1, and a running
# estimate with five markers ends near the true median.
#
# What happens: the markers were placed among the slow samples and then step down through values that never occurred.
# After 300 samples of 100 and 700 of 1 the estimate is 22.6, and ten times as many of both hardly change it. The same
# samples in mixed order give 1.
#
# Why it matters: iteration times begin with a warm-up (allocations, connections, changing buckets), and running
# quantiles are there for recorders that do not keep every sample. Their median of a job is then mostly warm-up, and by
# an amount that depends on the order of the samples, which no reader of a median expects.
#
# Output seen (true median 1 in all rows):
#
#    300 of 100, then 700 of 1: 22.6
#    3000 of 100, then 7000 of 1: 22.1
#    300 of 100 and 700 of 1, mixed: 1.0
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
apt-get update -qq
command -v gcc >/dev/null || apt-get install -y -qq gcc libc6-dev >/dev/null
(
    cd "$folder"
    apt-get download -qq -o APT::Sandbox::User=root libgsl-dev=2.7.1+dfsg-5+deb12u1 \
        libgsl27=2.7.1+dfsg-5+deb12u1 libgslcblas0=2.7.1+dfsg-5+deb12u1
    for package in ./*.deb; do dpkg -x "$package" .; done
)

cat > "$folder/fit.c" <<'EOF'
#include <gsl/gsl_rstat.h>
#include <stdio.h>

/* Running median of `slow` samples of 100 and `fast` of 1; with a step, in an order that mixes them. */
static double median(int slow, int fast, int step)
{
    gsl_rstat_quantile_workspace *work = gsl_rstat_quantile_alloc(0.5);
    int count = slow + fast;
    for (int i = 0; i < count; i++)
        gsl_rstat_quantile_add((long)i * step % count < slow ? 100 : 1, work);
    double value = gsl_rstat_quantile_get(work);
    gsl_rstat_quantile_free(work);
    return value;
}

int main(void)
{
    printf("300 of 100, then 700 of 1: %.1f\n", median(300, 700, 1));
    printf("3000 of 100, then 7000 of 1: %.1f\n", median(3000, 7000, 1));
    printf("300 of 100 and 700 of 1, mixed: %.1f\n", median(300, 700, 617));
    return 0;
}
EOF
library=$(dirname "$folder"/usr/lib/*/libgsl.so)
gcc -O1 -I"$folder/usr/include" "$folder/fit.c" -L"$library" -lgsl -lgslcblas -lm -o "$folder/fit"
LD_LIBRARY_PATH=$library "$folder/fit" | tee "$folder/seen"
sed -n 's/^#    //p' "$0" | diff - "$folder/seen"
