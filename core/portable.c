#include "core/portable.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { BLOCK = 256 }; /* numbers that are handled together */

static inline uint64_t bits_of(double x) {
    uint64_t bits = 0;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline double of_bits(uint64_t bits) {
    double x = 0;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* The sum of terms[i] x^i. Constant bounds let the compiler unroll it. */
static inline double polynomial(const double *terms, size_t count, double x) {
    double sum = terms[count - 1];
    for (size_t i = count - 1; i-- > 0;) {
        sum = sum * x + terms[i];
    }
    return sum;
}

/* ---- exponential and logarithm ------------------------------------------------------------- */

/* ln 2 in two parts: the first has 32 bits, so that its product with an exponent is exact. */
static const double LN2_HIGH = 0x1.62e42feep-1, LN2_LOW = 0x1.a39ef35793c76p-33;
static const double LOG2_E = 0x1.71547652b82fep+0;

/* e^x = 2^k e^r with |r| <= ln(2) / 2, for which Taylor's series to r^13 has an error below 2^-57.
 * For x from -708 to 709; otherwise the result is meaningless. */
static inline double exponential(double x) {
    static const double terms[] = {1,
                                   1,
                                   1.0 / 2,
                                   1.0 / 6,
                                   1.0 / 24,
                                   1.0 / 120,
                                   1.0 / 720,
                                   1.0 / 5040,
                                   1.0 / 40320,
                                   1.0 / 362880,
                                   1.0 / 3628800,
                                   1.0 / 39916800,
                                   1.0 / 479001600,
                                   1.0 / 6227020800};
    /* Added to a small number, it leaves the nearest integer in the low bits. */
    static const double to_integer = 0x1.8p52;
    double shifted = x * LOG2_E + to_integer;
    double k = shifted - to_integer;
    double r = (x - k * LN2_HIGH) - k * LN2_LOW;
    double power = of_bits((bits_of(shifted) + 1023) << 52);
    return power * polynomial(terms, sizeof terms / sizeof *terms, r);
}

/* Branches are in loops of their own, so that the arithmetic is vectorised. */
void gw_portable_exp_each(double *x, size_t count) {
    double given[BLOCK];
    for (size_t done = 0; done < count; done += BLOCK) {
        size_t length = count - done < BLOCK ? count - done : BLOCK;
        double *block = x + done;
        for (size_t i = 0; i < length; i++) {
            given[i] = block[i];
            block[i] = exponential(block[i]);
        }
        for (size_t i = 0; i < length; i++) {
            block[i] = given[i] > 709 ? INFINITY : given[i] >= -708 ? block[i] : 0;
        }
    }
}

/* x = 2^k m with m from sqrt(1/2) to sqrt(2). */
static double split_exponent(double x, double *m) {
    static const uint64_t root_half = 0x3fe6a09e667f3bcd; /* sqrt(1/2) as bits */
    uint64_t above = bits_of(x) - root_half;
    int64_t k = (int64_t)above >> 52;
    *m = of_bits(bits_of(x) - ((uint64_t)k << 52));
    return (double)k;
}

/* ln m = 2 artanh(s) with s = (m - 1) / (m + 1), |s| < 0.172: the series to s^23. */
static double log_near_one(double m) {
    static const double terms[] = {1.0 / 3,  1.0 / 5,  1.0 / 7,  1.0 / 9,  1.0 / 11, 1.0 / 13,
                                   1.0 / 15, 1.0 / 17, 1.0 / 19, 1.0 / 21, 1.0 / 23};
    double s = (m - 1) / (m + 1);
    double square = s * s;
    double rest = s * square * polynomial(terms, sizeof terms / sizeof *terms, square);
    return 2 * (s + rest);
}

static double natural_log(double x) {
    double m = 0;
    double k = split_exponent(x, &m);
    return k * LN2_HIGH + (log_near_one(m) + k * LN2_LOW);
}

double gw_portable_log2(double x) {
    double m = 0;
    double k = split_exponent(x, &m);
    return k + log_near_one(m) * LOG2_E;
}

/* ---- normal distribution ------------------------------------------------------------------- */

static inline double ratio(const double above[8], const double below[8], double x) {
    return polynomial(above, 8, x) / polynomial(below, 8, x);
}

/* The coefficients a, b (near the median), c, d (r up to 5) and e, f (beyond) of AS 241. */
static inline double median_quantile(double q) {
    static const double a[8] = {3.3871328727963666080e0, 1.3314166789178437745e2,
                                1.9715909503065514427e3, 1.3731693765509461125e4,
                                4.5921953931549871457e4, 6.7265770927008700853e4,
                                3.3430575583588128105e4, 2.5090809287301226727e3};
    static const double b[8] = {1.0,
                                4.2313330701600911252e1,
                                6.8718700749205790830e2,
                                5.3941960214247511077e3,
                                2.1213794301586595867e4,
                                3.9307895800092710610e4,
                                2.8729085735721942674e4,
                                5.2264952788528545610e3};
    return q * ratio(a, b, 0.180625 - q * q);
}

/* The quantile at the tail that holds `rest` of the probability. */
static double tail_quantile(double rest) {
    static const double c[8] = {1.42343711074968357734e0,  4.63033784615654529590e0,
                                5.76949722146069140550e0,  3.64784832476320460504e0,
                                1.27045825245236838258e0,  2.41780725177450611770e-1,
                                2.27238449892691845833e-2, 7.74545014278341407640e-4};
    static const double d[8] = {1.0,
                                2.05319162663775882187e0,
                                1.67638483018380384940e0,
                                6.89767334985100004550e-1,
                                1.48103976427480074590e-1,
                                1.51986665636164571966e-2,
                                5.47593808499534494600e-4,
                                1.05075007164441684324e-9};
    static const double e[8] = {6.65790464350110377720e0,  5.46378491116411436990e0,
                                1.78482653991729133580e0,  2.96560571828504891230e-1,
                                2.65321895265761230930e-2, 1.24266094738807843860e-3,
                                2.71155556874348757815e-5, 2.01033439929228813265e-7};
    static const double f[8] = {1.0,
                                5.99832206555887937690e-1,
                                1.36929880922735805310e-1,
                                1.48753612908506148525e-2,
                                7.86869131145613259100e-4,
                                1.84631831751005468180e-5,
                                1.42151175831644588870e-7,
                                2.04426310338993978564e-15};
    double r = sqrt(-natural_log(rest));
    return r <= 5 ? ratio(c, d, r - 1.6) : ratio(e, f, r - 5);
}

static double beyond(double p) {
    return p < 0.5 ? -tail_quantile(p) : tail_quantile(1 - p);
}

/* Computes all as if near the median, in one loop without a branch; then the tails, 15% of them. */
void gw_normal_quantile_each(double *p, size_t count) {
    double given[BLOCK];
    for (size_t done = 0; done < count; done += BLOCK) {
        size_t length = count - done < BLOCK ? count - done : BLOCK;
        double *block = p + done;
        for (size_t i = 0; i < length; i++) {
            given[i] = block[i];
            block[i] = median_quantile(block[i] - 0.5);
        }
        for (size_t i = 0; i < length; i++) {
            block[i] = fabs(given[i] - 0.5) <= 0.425 ? block[i] : beyond(given[i]);
        }
    }
}
