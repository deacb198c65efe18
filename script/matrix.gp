# Errors by pipeline, a point for each cell. Called with: data, output, heading, labels (pipelines), colours (a number a
# mode), titles (of the modes, an array). Columns of `data`: place, mode, error in percent, point or median.
set datafile separator ","
set terminal pngcairo size 1200,700 font "sans,13"
set output output
set title heading noenhanced
set ylabel "predicted over measured iteration (%)"
set yrange [* < -5:5 < *]
set border 3
set ytics nomirror format "%+g"
set grid ytics lt 1 lc rgb "#dddddd"
set xzeroaxis lt 1 lc rgb "#888888"
set xrange [-0.7:words(labels) - 0.3]
set xtics nomirror scale 0 rotate by 35 right offset 0.5,0 noenhanced
do for [i = 1:words(labels)] { set xtics add (word(labels, i) i - 1) }
do for [i = 1:words(labels) - 1] { set arrow from i - 0.5, graph 0 to i - 0.5, graph 1 nohead lt 1 lc rgb "#eeeeee" back }
set bmargin 9
set key at screen 0.5, 0.02 center bottom horizontal maxrows 1 samplen 1

palette = "#e8a33d #3f6f9f #62b58f #d95f5f"
colour(mode) = word(palette, int(word(colours, mode)) + 1)
modes = words(colours)
is_of(mode, kind) = int(column(2)) == mode - 1 && strcol(4) eq kind

plot for [mode = 1:modes] data using (is_of(mode, "median") ? $1 - 0.14 : NaN):3:(0.28):(0) with vectors nohead \
       linewidth 3 linecolor rgb "#333333" title (mode == 1 ? "medians" : ""), \
     for [mode = 1:modes] data using (is_of(mode, "point") ? $1 : NaN):3 with points \
       pointtype 7 pointsize 0.8 linecolor rgb colour(mode) title titles[mode]
