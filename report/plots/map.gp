# The fastest pipeline over bandwidths and densities. Called with: data, output, kind (terminal), heading, names (of the
# pipelines, a word each), columns and rows (of cells).
# Columns of `data`: bandwidth (times the cluster's), density, the pipeline's number and name, speedup over no compression.
set datafile separator ","
if (kind eq "png") set terminal pngcairo size 1200,640 font "sans,13"
if (kind eq "svg") set terminal svg size 1200,640 font "sans,13"
if (kind eq "pdf") set terminal pdfcairo size 24cm,13cm font "sans,13"
set output output
set title heading noenhanced
set xlabel "bandwidth, times the cluster's"
set ylabel "density"
set logscale xy
set border 3
set xtics nomirror
set ytics nomirror
set format x "%g"
set format y "10^{%T}"
set key at screen 0.5, 0.02 center bottom horizontal noenhanced samplen 1
set bmargin 6
stats data using (log10($1)) name "X" nooutput
stats data using (log10($2)) name "Y" nooutput
half_x = columns > 1 ? (X_max - X_min) / (columns - 1) / 2 : 0.1
half_y = rows > 1 ? (Y_max - Y_min) / (rows - 1) / 2 : 0.1
set xrange [10**(X_min - half_x):10**(X_max + half_x)]
set yrange [10**(Y_min - half_y):10**(Y_max + half_y)]
palette = "0x9cc3e0 0xe8a33d 0x7fc29a 0xe39a9a 0xbcaad8 0x8fd0d4 0xc9ab8e 0xc4c4c4"
colour(n) = int(word(palette, int(n) % words(palette) + 1))
letter(n) = sprintf("%c", 65 + int(n))
low(v, h) = 10**(log10(v) - 0.96 * h)
high(v, h) = 10**(log10(v) + 0.96 * h)
set style fill solid 1.0 noborder
plot data using 1:2:(low($1, half_x)):(high($1, half_x)):(low($2, half_y)):(high($2, half_y)):(colour($3)) \
       with boxxyerror lc rgb variable notitle, \
     data using 1:2:(sprintf("%s %.2g", letter($3), $5)) with labels font ",11" notitle, \
     for [n = 1:words(names)] NaN with boxes lc rgb colour(n - 1) title letter(n - 1) . ": " . word(names, n)
