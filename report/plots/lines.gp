# Heights over a swept value, as iteration times for each policy and exchange. Called with: data, output, kind (terminal),
# heading, axis, heights (their axis), unit (how much of them is 1 there), tics (of the x axis; empty: gnuplot's), lines (count), logx, logy, labels (an array), colours and
# dashes (a word a line). Columns of `data`: value, then each line's height.
set datafile separator ","
if (kind eq "png") set terminal pngcairo size 1200,640 font "sans,13"
if (kind eq "svg") set terminal svg size 1200,640 font "sans,13"
if (kind eq "pdf") set terminal pdfcairo size 24cm,13cm font "sans,13"
set output output
set title heading noenhanced
set xlabel axis noenhanced
set ylabel heights noenhanced
set border 3
set xtics nomirror
set ytics nomirror
set grid xtics ytics lt 1 lc rgb "#dddddd"
set format "%g"
set autoscale xfix
stats data using 1 nooutput
if (STATS_min == STATS_max) set xrange [STATS_min / 2:STATS_max * 2]
set key outside right top Left reverse noenhanced samplen 5 spacing 1.3
if (logx) set logscale x
if (strlen(tics) > 0) eval "set xtics nomirror (" . tics . "); unset mxtics"
if (logy) {
    set logscale y
    set autoscale yfix
    set offsets 0, 0, graph 0.05, graph 0.05
    set ytics ("" 1)
    do for [decade = -6:12] {
        do for [digit in "1 2 5"] { set ytics add (sprintf("%g", digit * 10.0**decade) digit * 10.0**decade) }
    }
} else {
    stats data using (sum [line = 1:lines] column(line + 1)) nooutput
    set yrange [0:*]
    if (STATS_max == 0) { set yrange [0:1] }
}

# Each line is narrower than those before it, which therefore show where it lies on them.
palette = "#e8a33d #3f6f9f #62b58f #d95f5f #333333"
place(line) = int(word(colours, line)) % words(palette)
colour(line) = word(palette, place(line) + 1)
width(line) = 6 - 1.1 * place(line)
set dashtype 2 (7, 5)
dash(line) = 1 + int(word(dashes, line))

plot for [line = 1:lines] data using 1:(column(line + 1) / unit) with lines \
       linecolor rgb colour(line) dashtype dash(line) linewidth width(line) title labels[line], \
     for [line = 1:lines] data using 1:(column(line + 1) / unit) with points \
       linecolor rgb colour(line) pointtype 7 pointsize 0.15 * width(line) notitle
