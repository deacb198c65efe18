# Iteration times of pipelines over workers or bandwidth, with where another one becomes the fastest. Called with: data,
# output, kind (terminal), heading, axis, unit (how much of the values is 1 there), tics (of the x axis; empty: gnuplot's),
# logx, logy, bottom and top (of the times shown, in ms), lines (count), labels (an array), columns (of each line, the first pipeline's 0) and broad (a word a line),
# marks (count), places, holders (pipelines) and texts (a word a mark).
# Columns of `data`: value, fastest, then each pipeline's iteration in seconds.
set datafile separator ","
if (kind eq "png") set terminal pngcairo size 1200,720 font "sans,13"
if (kind eq "svg") set terminal svg size 1200,720 font "sans,13"
if (kind eq "pdf") set terminal pdfcairo size 24cm,14.4cm font "sans,13"
set output output
set title heading noenhanced
set xlabel axis noenhanced
set ylabel "iteration time (ms)"
set border 3
set xtics nomirror
set ytics nomirror
set grid xtics ytics lt 1 lc rgb "#dddddd"
set format "%g"
stats data using ($1 / unit) nooutput
set xrange [STATS_min:STATS_max * (1 + 1e-9)] # with its last tic
if (STATS_min == STATS_max) set xrange [STATS_min / 2:STATS_max * 2]
set key outside right top Left reverse noenhanced samplen 4 spacing 1.15
if (logx) {
    set logscale x
    set xtics ("" 1)
    do for [decade = -6:12] {
        do for [digit in "1 2 5"] { set xtics add (sprintf("%g", digit * 10.0**decade) digit * 10.0**decade) }
    }
}
if (strlen(tics) > 0) eval "set xtics nomirror (" . tics . "); unset mxtics"
if (logy) {
    set logscale y
    set ytics ("" 1)
    do for [decade = -6:12] {
        do for [digit in "1 2 5"] { set ytics add (sprintf("%g", digit * 10.0**decade) digit * 10.0**decade) }
    }
}
set yrange [bottom:top]

# The fastest anywhere have a colour each and stand in the key; all others are grey, below them.
palette = "#0072b2 #d55e00 #009e73 #cc79a7 #e69f00 #56b4e9 #000000 #8c6d4f"
number(line) = int(word(columns, line))
is_broad(line) = int(word(broad, line))
winner(line) = sum [i = 1:line] is_broad(i)
line_of(pipeline) = sum [i = 1:lines] (number(i) == int(pipeline) ? i : 0)
hue(line) = is_broad(line) ? word(palette, (winner(line) - 1) % words(palette) + 1) : "#bbbbbb"
set dashtype 2 (8, 4)
dash(line) = 1 + (is_broad(line) && winner(line) > words(palette))

do for [m = 1:marks] {
    place = real(word(places, m))
    if (m > 1) { set arrow m from first place, graph 0 to first place, graph 1 nohead lc rgb "#888888" dashtype (4, 4) back }
    set label m word(texts, m) . (m > 1 ? sprintf(" from %.4g", place) : "") at first place, graph 0.02 \
        left rotate by 90 offset character 0.9, 0 noenhanced tc rgb hue(line_of(word(holders, m))) font ",11" front
}

plot for [line = 1:lines] data using ($1 / unit):(is_broad(line) ? NaN : 1000 * column(number(line) + 3)) with lines \
       linecolor rgb hue(line) linewidth 1.3 notitle, \
     for [line = 1:lines] data using ($1 / unit):(is_broad(line) ? 1000 * column(number(line) + 3) : NaN) with lines \
       linecolor rgb hue(line) dashtype dash(line) linewidth 3.5 title (is_broad(line) ? labels[line] : ""), \
     NaN with lines linecolor rgb "#bbbbbb" linewidth 1.3 title (winner(lines) < lines ? "the others" : "")
