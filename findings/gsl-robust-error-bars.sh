#!/usr/bin/env bash
# GSL's robust line gives an outlier no weight, and grows its error bars in proportion to that outlier all the same.
#
# Versions: GSL 2.7.1 (Debian 12, 2.7.1+dfsg-5+deb12u1), gsl_multifit_robust with bisquare weights.
#
# One would guess: a robust fit that leaves an outlier out has the coefficients and the standard errors of the other
# points; moving the outlier further out changes neither.
#
# What happens: the coefficients stay to all digits. Their standard errors rise with the outlier's distance, ten times
# for ten times, without a bound: the reported sigma mixes in the residuals of the ordinary fit (the manual has the
# formula), with the weight p^2 / (p^2 + n) of p coefficients and n points.
#
# Why it matters: startup time and time per byte of a collective are such a line, and a run that the machine disturbed is
# such an outlier. The few points of a calibration give the ordinary fit a large weight, so that one disturbed size
# makes an interval useless although the line is right. Errors from sigma_rob, or a bootstrap, do not have it.
#
# Output seen (ten points within 0.1 of the line 20 + 3 x; the ninth also moved up):
#
#    moved up by     0: slope 3.000, standard error 0.0002
#    moved up by   100: slope 3.000, standard error 0.0342
#    moved up by  1000: slope 3.000, standard error 0.3423
#    moved up by 10000: slope 3.000, standard error 3.4233
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
#include <gsl/gsl_multifit.h>
#include <math.h>
#include <stdio.h>

int main(void)
{
    enum { POINTS = 10, COEFFICIENTS = 2 };
    const double noise[POINTS] = {0.1, -0.1, 0.05, -0.05, 0.1, -0.1, 0.0, 0.05, -0.1, 0.05};
    const double moved[] = {0, 100, 1000, 10000};
    gsl_matrix *design = gsl_matrix_alloc(POINTS, COEFFICIENTS);
    gsl_matrix *covariance = gsl_matrix_alloc(COEFFICIENTS, COEFFICIENTS);
    gsl_vector *times = gsl_vector_alloc(POINTS), *line = gsl_vector_alloc(COEFFICIENTS);
    gsl_multifit_robust_workspace *work =
        gsl_multifit_robust_alloc(gsl_multifit_robust_bisquare, POINTS, COEFFICIENTS);

    for (int run = 0; run < 4; run++) {
        for (int i = 0; i < POINTS; i++) {
            double x = pow(2, i);
            gsl_matrix_set(design, (size_t)i, 0, 1);
            gsl_matrix_set(design, (size_t)i, 1, x);
            gsl_vector_set(times, (size_t)i, 20 + 3 * x + noise[i] + (i == POINTS - 2 ? moved[run] : 0));
        }
        gsl_multifit_robust(design, times, line, covariance, work);
        printf("moved up by %5.0f: slope %.3f, standard error %.4f\n", moved[run], gsl_vector_get(line, 1),
               sqrt(gsl_matrix_get(covariance, 1, 1)));
    }
    return 0;
}
EOF
library=$(dirname "$folder"/usr/lib/*/libgsl.so)
gcc -O1 -I"$folder/usr/include" "$folder/fit.c" -L"$library" -lgsl -lgslcblas -lm -o "$folder/fit"
LD_LIBRARY_PATH=$library "$folder/fit" | tee "$folder/seen"
sed -n 's/^#    //p' "$0" | diff - "$folder/seen"
