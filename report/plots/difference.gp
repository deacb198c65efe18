# An iteration as predicted and as measured, operation by operation. Called with: data, output, kind (terminal), heading,
# predicted_s and measured_s (of the iteration).
# Columns of `data`: stream, activity, group (-1: none), rank (1: contributes most to the difference; 0: not drawn out), and
# of the prediction and of the measurement each start, end (seconds) and whether it is on that one's critical path.
set datafile separator ","
if (kind eq "png") set terminal pngcairo size 1280,560 font "sans,13"
if (kind eq "svg") set terminal svg size 1280,560 font "sans,13"
if (kind eq "pdf") set terminal pdfcairo size 26cm,11.4cm font "sans,13"
set output output
set title heading noenhanced offset 0,0.6
longer_s = predicted_s > measured_s ? predicted_s : measured_s
whole_s = longer_s > 0 ? longer_s : 1
unit = whole_s < 1e-3 ? "us" : whole_s < 10 ? "ms" : "s"
scale = whole_s < 1e-3 ? 1e6 : whole_s < 10 ? 1e3 : 1

titles = "forward backward compression exchange update"
array colors[5] = [0x9cc3e0, 0x4c86b8, 0xe8a33d, 0x62a877, 0xbbbbbb]

set xrange [0:1.01 * scale * whole_s]
set yrange [0:6.2]
set xlabel sprintf("time (%s)", unit) offset 0,0.4
set format x "%g"
set border 1
set xtics nomirror out
set ytics ("predicted network" 5.1, "compute" 4.1, "measured compute" 1.9, "network" 0.9) scale 0
set style fill solid 1.0 noborder
set bmargin 5
set key at screen 0.5, 0.02 center bottom horizontal maxrows 1 samplen 1.5 font ",11"
set samples 2

# Neighbouring groups differ in shade.
shade(group, even, odd) = int(group) % 2 ? odd : even
color(activity, group) = activity eq "forward" ? colors[1] : \
    activity eq "backward" ? shade(group, colors[2], 0x79a9d1) : \
    activity eq "compress" ? shade(group, colors[3], 0xf4cc8c) : \
    activity eq "exchange" ? shade(group, colors[4], 0x97cba4) : colors[5]
travels(stream) = stream eq "communication"
predicted(stream) = travels(stream) ? 5.1 : 4.1
measured(stream) = travels(stream) ? 0.9 : 1.9
half = 0.4

do for [middle in "5.1 4.1"] {
    set object rectangle from 0,middle-half to scale*predicted_s,middle+half behind fc rgb "#eeeeee" fs noborder
}
do for [middle in "1.9 0.9"] {
    set object rectangle from 0,middle-half to scale*measured_s,middle+half behind fc rgb "#eeeeee" fs noborder
}
set arrow from scale*predicted_s,3.6 to scale*predicted_s,5.6 nohead front lw 1.5 lc rgb "#333333"
set arrow from scale*measured_s,0.4 to scale*measured_s,2.4 nohead front lw 1.5 lc rgb "#333333"
set label sprintf("predicted %.4g %s", scale*predicted_s, unit) at scale*whole_s,5.9 right tc rgb "#333333"
set label sprintf("measured %.4g %s", scale*measured_s, unit) at scale*whole_s,0.2 right tc rgb "#333333"
set label "black line: critical path; numbers: what contributes most to the difference" at 0,5.9 tc rgb "#666666" font ",11"

# Of an operation that is numbered: its ends, on both sides.
from_s(rank, s) = rank > 0 ? scale*s : NaN
plot data using (scale*$5):(predicted(strcol(1))):(scale*$5):(scale*$6):(predicted(strcol(1))-half):(predicted(strcol(1))+half) \
       :(color(strcol(2), $3)) with boxxyerror lc rgb variable notitle, \
     data using (scale*$8):(measured(strcol(1))):(scale*$8):(scale*$9):(measured(strcol(1))-half):(measured(strcol(1))+half) \
       :(color(strcol(2), $3)) with boxxyerror lc rgb variable notitle, \
     data using ($7 > 0 ? scale*$5 : NaN):(predicted(strcol(1))-half):(scale*($6-$5)):(0) \
       with vectors nohead lw 2.5 lc rgb "#222222" notitle, \
     data using ($10 > 0 ? scale*$8 : NaN):(measured(strcol(1))+half):(scale*($9-$8)):(0) \
       with vectors nohead lw 2.5 lc rgb "#222222" notitle, \
     data using (from_s($4, $5)):(predicted(strcol(1))-half):(scale*($8-$5)):(measured(strcol(1))-predicted(strcol(1))+2*half) \
       with vectors nohead lw 0.7 lc rgb "#a0b03030" notitle, \
     data using (from_s($4, $6)):(predicted(strcol(1))-half):(scale*($9-$6)):(measured(strcol(1))-predicted(strcol(1))+2*half) \
       with vectors nohead lw 0.7 lc rgb "#a0b03030" notitle, \
     data using (from_s($4, ($5+$6)/2)):(predicted(strcol(1))):(sprintf("%d", $4)) with labels font ",11" notitle, \
     data using (from_s($4, ($8+$9)/2)):(measured(strcol(1))):(sprintf("%d", $4)) with labels font ",11" notitle, \
     for [i = 1:5] NaN with boxes lc rgb colors[i] title word(titles, i)
