# A network's tensors in the order in which they are ready, coloured by the groups in which they travel. Called with: data,
# output, kind (terminal), heading, tensors and groups (counts). Columns of `data`: place, group, tensor, elements, backward (s).
set datafile separator ","
if (kind eq "png") set terminal pngcairo size 1200,480 font "sans,13"
if (kind eq "svg") set terminal svg size 1200,480 font "sans,13"
if (kind eq "pdf") set terminal pdfcairo size 24cm,9.8cm font "sans,13"
set output output
set title heading noenhanced
set xlabel "tensors, the last layer's first"
set ylabel "elements"
set logscale y
set format y "10^{%T}"
set border 3
set xtics nomirror
set ytics nomirror
set grid ytics lt 1 lc rgb "#dddddd"
set xrange [-1:tensors]
set yrange [0.7:*]
set boxwidth 0.9
set style fill solid 1.0 noborder
colour(group) = int(group) % 2 ? 0xe8a33d : 0x4c86b8
plot data using 1:4:(colour($2)) with boxes lc rgb variable notitle, \
     NaN with boxes lc rgb 0x4c86b8 title sprintf("neighbours of one colour travel together: %d groups", groups)
