# Stacked bars of iteration times. Called with: data, output, kind (terminal), heading, labels (count), pairs.
# Columns of `data`: position, label, kind, forward, backward, compress, exposed, other (seconds).
# More names than fit beside each other stand aslant, and the heights of more pairs upright.
set datafile separator ","
many = labels > 10
height = (many ? 700 : 640) + (pairs ? 160 : 0)
if (kind eq "png") set terminal pngcairo size 1200,height font "sans,13"
if (kind eq "svg") set terminal svg size 1200,height font "sans,13"
if (kind eq "pdf") set terminal pdfcairo size 24cm,height/49.0 cm font "sans,13"
set output output
# Above pairs stands how far off predictions are, in a band of 5%.
if (pairs) {
    set multiplot
    set tmargin at screen 1 - 44.0 / height
    set bmargin at screen 1 - 168.0 / height
    set lmargin at screen 0.1
    set rmargin at screen 0.97
    predicted = 0
    ratio(side, s) = side eq "p" ? (predicted = s, NaN) : (s > 0 ? predicted / s : NaN)
    stats data using (ratio(strcol(3), $4+$5+$6+$7+$8)) nooutput
    reach = 1.15 * (abs(STATS_max - 1) > abs(STATS_min - 1) ? abs(STATS_max - 1) : abs(STATS_min - 1))
    reach = reach > 0.08 ? reach : 0.08
    set yrange [1 - reach:1 + reach]
    set xrange [-0.7:labels - 0.3]
    set title heading noenhanced
    set ylabel "predicted /\nmeasured"
    set border 2
    unset xtics
    set ytics nomirror reach > 0.3 ? 0.2 : reach > 0.15 ? 0.1 : 0.05
    set object 1 rectangle from graph 0, first 0.95 to graph 1, first 1.05 behind fc rgb "#dcebdc" fs noborder
    set arrow 1 from graph 0, first 1 to graph 1, first 1 nohead back lc rgb "#888888"
    set label 1 "band: 5%" at graph 0.995, first 1.05 right offset 0, 0.6 font ",10" tc rgb "#666666"
    plot data using ($1 - 0.2):(ratio(strcol(3), $4+$5+$6+$7+$8)) with points pt 7 ps 1.1 lc rgb "#333333" notitle
    unset object 1
    unset arrow 1
    unset label 1
    set ytics autofreq
    set autoscale
    set title " "
    set tmargin at screen 1 - 210.0 / height
} else {
    set title heading noenhanced
}
set ylabel "iteration time (ms)"
stats data using ($4+$5+$6+$7+$8) nooutput
# What takes many times as long as most do would flatten all others: such bars are cut, with a gap below their end.
most = 4 * STATS_median
cut = STATS_max > 1.25 * most && most > 0 ? most : STATS_max
is_cut(s) = s > cut
set yrange [0:*]
set offsets 0, 0, graph (many && pairs ? 0.08 : 0), 0
if (STATS_max == 0) { set yrange [0:1] }
if (cut < STATS_max) {
    set yrange [0:1000 * cut * (many && pairs ? 1.15 : 1.08)]
    set label "bars with a gap are cut; all times are written above" at graph 0.995, graph 1.02 right font ",10" tc rgb "#666666"
}
set xrange [-0.7:labels - 0.3]
set grid ytics lc rgb "#dddddd"
set border 3
set ytics nomirror
unset xtics
set bmargin at screen (many ? 190.0 : 100.0) / height
set key at screen 0.5, 0.02 center bottom horizontal maxrows 1 width 1 samplen 1.5
set boxwidth (pairs ? 0.36 : 0.6)
set style fill solid 1.0 border rgb "#444444"

heights = many && pairs ? "left rotate by 90 offset 0,0.4 font ',10'" : "offset 0,0.7 font ',11'"
names = many ? "right rotate by 35 offset 0.5,-0.6" : "offset 0,-1.2"

# A box of each height hides the lower part of the one drawn before it.
ms(s) = 1000 * s
end(s) = ms(is_cut(s) ? cut : s)
half = pairs ? 0.2 : 0.32
plot data using 1:(end($4+$5+$6+$7+$8)) with boxes lc rgb "#bbbbbb" title "other", \
     data using 1:(end($4+$5+$6+$7)) with boxes lc rgb "#d95f5f" title "exposed communication", \
     data using 1:(end($4+$5+$6)) with boxes lc rgb "#e8a33d" title "compression", \
     data using 1:(end($4+$5)) with boxes lc rgb "#4c86b8" title "backward", \
     data using 1:(end($4)) with boxes lc rgb "#9cc3e0" title "forward", \
     data using (is_cut($4+$5+$6+$7+$8) ? $1 : NaN):(0.93 * ms(cut)):($1 - half):($1 + half):(0.92 * ms(cut)):(0.94 * ms(cut)) \
       with boxxyerror lc rgb "white" fillstyle solid 1.0 noborder notitle, \
     data using 1:(end($4+$5+$6+$7+$8)):(sprintf(pairs ? "%s %.4g" : "%s%.4g", stringcolumn(3), ms($4+$5+$6+$7+$8))) \
       with labels @heights notitle, \
     data using (int($0) % (pairs ? 2 : 1) == 0 ? $1 + (pairs ? 0.2 : 0) : NaN):(0):(stringcolumn(2)) \
       with labels @names noenhanced notitle
if (pairs) { unset multiplot }
