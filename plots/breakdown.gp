# Stacked bars of iteration times. Called with: data, output, kind (terminal), heading, labels (count), pairs.
# Columns of `data`: position, label, kind, forward, backward, compress, exposed, other (seconds).
# More names than fit beside each other stand aslant, and the heights of more pairs upright.
set datafile separator ","
many = labels > 10
height = many ? 700 : 640
if (kind eq "png") set terminal pngcairo size 1200,height font "sans,13"
if (kind eq "svg") set terminal svg size 1200,height font "sans,13"
if (kind eq "pdf") set terminal pdfcairo size 24cm,height/49.0 cm font "sans,13"
set output output
set title heading noenhanced
set ylabel "iteration time (ms)"
stats data using ($4+$5+$6+$7+$8) nooutput
set yrange [0:*]
set offsets 0, 0, graph (many && pairs ? 0.08 : 0), 0
if (STATS_max == 0) { set yrange [0:1] }
set xrange [-0.7:labels - 0.3]
set grid ytics lc rgb "#dddddd"
set border 3
set ytics nomirror
unset xtics
set bmargin (many ? 9 : 5)
set key at screen 0.5, 0.02 center bottom horizontal maxrows 1 width 1 samplen 1.5
set boxwidth (pairs ? 0.36 : 0.6)
set style fill solid 1.0 border rgb "#444444"

heights = many && pairs ? "left rotate by 90 offset 0,0.4 font ',10'" : "offset 0,0.7 font ',11'"
names = many ? "right rotate by 35 offset 0.5,-0.6" : "offset 0,-1.2"

# A box of each height hides the lower part of the one drawn before it.
ms(s) = 1000 * s
plot data using 1:(ms($4+$5+$6+$7+$8)) with boxes lc rgb "#bbbbbb" title "other", \
     data using 1:(ms($4+$5+$6+$7)) with boxes lc rgb "#d95f5f" title "exposed communication", \
     data using 1:(ms($4+$5+$6)) with boxes lc rgb "#e8a33d" title "compression", \
     data using 1:(ms($4+$5)) with boxes lc rgb "#4c86b8" title "backward", \
     data using 1:(ms($4)) with boxes lc rgb "#9cc3e0" title "forward", \
     data using 1:(ms($4+$5+$6+$7+$8)):(sprintf(pairs ? "%s %.0f" : "%s%.0f", stringcolumn(3), ms($4+$5+$6+$7+$8))) \
       with labels @heights notitle, \
     data using (int($0) % (pairs ? 2 : 1) == 0 ? $1 + (pairs ? 0.2 : 0) : NaN):(0):(stringcolumn(2)) \
       with labels @names noenhanced notitle
