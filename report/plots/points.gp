# Values with names and intervals, a row each, some of them marked. Called with: data, output, kind (terminal), heading, count,
# axis. Columns of `data`: name, value, its interval's ends, whether it is marked, row (from below).
set datafile separator ","
height = 150 + 26 * count
if (kind eq "png") set terminal pngcairo size 1200,height font "sans,13"
if (kind eq "svg") set terminal svg size 1200,height font "sans,13"
if (kind eq "pdf") set terminal pdfcairo size 24cm,height/49.0 cm font "sans,13"
set output output
set title heading noenhanced
set xlabel axis noenhanced
set border 3
set xtics nomirror
set ytics nomirror noenhanced
set grid xtics ytics lt 1 lc rgb "#dddddd"
set format "%g"
stats data using 2 nooutput
if (STATS_max > 8 * STATS_min && STATS_min > 0) {
    set logscale x
    set xtics ("" 1)
    do for [decade = -6:12] {
        do for [digit in "1 2 5"] { set xtics add (sprintf("%g", digit * 10.0**decade) digit * 10.0**decade) }
    }
} else {
    set xrange [0:*]
}
set yrange [-0.7:count - 0.3]
colour(marked) = int(marked) ? 0xd95f5f : 0x4c86b8
plot data using 3:6:($4 - $3):(0):(colour($5)) with vectors nohead lw 3 lc rgb variable notitle, \
     data using 2:6:(colour($5)):ytic(1) with points pt 7 ps 1.2 lc rgb variable notitle
