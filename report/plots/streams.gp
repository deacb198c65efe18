# What the two streams of an iteration do. Called with: data, output, kind (terminal), heading, end_s (of the
# iteration), computed_s (of all compute but the update), bound_s (of all plans; 0: not known).
# Columns of `data`: stream, activity, group (-1: none), start, end, and the end of the group's compute (seconds).
set datafile separator ","
if (kind eq "png") set terminal pngcairo size 1280,400 font "sans,13"
if (kind eq "svg") set terminal svg size 1280,400 font "sans,13"
if (kind eq "pdf") set terminal pdfcairo size 26cm,8.2cm font "sans,13"
set output output
set title heading noenhanced offset 0,0.6
whole_s = end_s > 0 ? end_s : 1
unit = whole_s < 1e-3 ? "us" : whole_s < 10 ? "ms" : "s"
scale = whole_s < 1e-3 ? 1e6 : whole_s < 10 ? 1e3 : 1

# What is shown, in the legend's order, and for how long; before any range is set, which would leave out data.
kinds = "forward backward compress hidden exposed update idle"
array titles[7] = ["forward", "backward", "compression", "hidden exchange", "exposed exchange", "update", "idle"]
array colors[7] = [0x9cc3e0, 0x4c86b8, 0xe8a33d, 0x62a877, 0xd95f5f, 0xbbbbbb, 0xeeeeee]
array seconds[7]
travels(stream) = stream eq "communication"
exposed(stream, s) = travels(stream) && s > computed_s ? s : computed_s
exposed_s(stream, start_s, end_s) = exposed(stream, end_s) - exposed(stream, start_s)
part_s(kind, stream, activity, start_s, end_s) = \
    kind eq "exposed" ? exposed_s(stream, start_s, end_s) : \
    kind eq "hidden" ? travels(stream) * (end_s - start_s) - exposed_s(stream, start_s, end_s) : \
    kind eq activity ? end_s - start_s : 0
seconds[7] = 2 * end_s
do for [i = 1:6] {
    stats data using (part_s(word(kinds, i), strcol(1), strcol(2), $4, $5)) nooutput
    seconds[i] = STATS_sum
    seconds[7] = seconds[7] - STATS_sum
}
legend(i) = seconds[i] > 1e-6 * whole_s ? titles[i] : "" # less is rounding

set xrange [0:1.01 * scale * whole_s]
set yrange [0:3.4]
set xlabel sprintf("time (%s)", unit) offset 0,0.4
set format x "%g"
set border 1
set xtics nomirror out
set ytics ("compute" 2.4, "network" 0.8) scale 0
set style fill solid 1.0 noborder
set bmargin 5
set key at screen 0.5, 0.02 center bottom horizontal maxrows 1 samplen 1.5 font ",11"
set samples 2

# Neighbouring groups differ in shade.
shade(group, even, odd) = int(group) % 2 ? odd : even
color(activity, group) = activity eq "forward" ? colors[1] : \
    activity eq "backward" ? shade(group, colors[2], 0x79a9d1) : \
    activity eq "compress" ? shade(group, colors[3], 0xf4cc8c) : \
    activity eq "exchange" ? shade(group, colors[4], 0x97cba4) : colors[6]
exposed_color(group) = shade(group, colors[5], 0xeb9a9a)
middle(stream) = travels(stream) ? 0.8 : 2.4
low(stream) = middle(stream) - 0.5
high(stream) = middle(stream) + 0.5

set object rectangle from 0,low("compute") to scale*end_s,high("compute") behind fc rgb "#eeeeee" fs noborder
set object rectangle from 0,low("communication") to scale*end_s,high("communication") behind fc rgb "#eeeeee" \
    fs noborder
set arrow from scale*end_s,0.1 to scale*end_s,3.05 nohead front lw 1.5 lc rgb "#333333"
if (bound_s > 0) { set arrow from scale*bound_s,0.1 to scale*bound_s,3.05 nohead front lw 1.5 dt (6,4) lc rgb "#8a2be2" }
set label sprintf("iteration %.4g %s", scale*end_s, unit) at scale*whole_s,3.25 right tc rgb "#333333"
if (bound_s > 0) { set label sprintf("no plan is faster than %.4g %s (dashed)", scale*bound_s, unit) at 0,3.25 tc rgb "#8a2be2" }

# A group is numbered on each stream, unless the number would run into the one before.
is_numbered(activity, start_s, end_s) = activity eq "backward" || activity eq "exchange" && end_s > start_s
center_s(activity, start_s, end_s, ready_s) = (start_s + (activity eq "backward" ? ready_s : end_s)) / 2
array last[2] = [-whole_s, -whole_s]
fitting(row, s, text) = s - last[row] > (0.005 + 0.008*strlen(text)) * whole_s ? (last[row] = s, text) : ""
number(stream, activity, group, start_s, end_s, ready_s) = is_numbered(activity, start_s, end_s) ? \
    fitting(1 + travels(stream), center_s(activity, start_s, end_s, ready_s), sprintf("%d", group)) : ""

plot data using (scale*$4):(middle(strcol(1))):(scale*$4):(scale*$5):(low(strcol(1))):(high(strcol(1))) \
       :(color(strcol(2), $3)) with boxxyerror lc rgb variable notitle, \
     data using (scale*$4):(middle(strcol(1))):(scale*exposed(strcol(1), $4)):(scale*exposed(strcol(1), $5)) \
       :(low(strcol(1))):(high(strcol(1))):(exposed_color($3)) with boxxyerror lc rgb variable notitle, \
     data using (travels(strcol(1)) ? scale*$6 : NaN):(1.9):(scale*($4-$6)):(-0.6) \
       with vectors nohead lw 0.7 lc rgb "#90606060" notitle, \
     data using (scale*center_s(strcol(2), $4, $5, $6)):(middle(strcol(1))) \
       :(number(strcol(1), strcol(2), $3, $4, $5, $6)) with labels font ",11" notitle, \
     for [i = 1:7] NaN with boxes lc rgb colors[i] title legend(i)
