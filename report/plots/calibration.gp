# Measured points and fitted curves, a panel for each collective and compressor. Called with: data, output, kind
# (terminal), heading, columns (of panels), sections (panels of collectives and of compressors), ranges (of each: lowest
# and highest size, lowest and highest time), names and choices (of each panel), workers (a word for each colour).
# Columns of `data`: panel, colour, name, workers, what (curve or point), size, time, 5th and 95th percentile (seconds).
set datafile separator ","
set encoding utf8
rows(s) = (sections[s] + columns - 1) / columns

# In pixels, as they are in .png; y counts from the top.
panel_width = 270; panel_height = 215; gap = 16
left = 84; right = 24; top = 76; band = 34; below = 58
section_height(s) = sections[s] > 0 ? band + rows(s) * (panel_height + gap) - gap + below : 0
width = left + columns * (panel_width + gap) - gap + right
if (width < 600 + 46 * words(workers)) { width = 600 + 46 * words(workers) }
height = top + section_height(1) + section_height(2)
if (kind eq "png") set terminal pngcairo size width,height font "sans,11"
if (kind eq "svg") set terminal svg size width,height font "sans,11"
if (kind eq "pdf") set terminal pdfcairo size width/48.0 cm, height/48.0 cm font "sans,10"
set output output
X(x) = x / real(width)
Y(y) = 1 - y / real(height)

palette = "0x3f6f9f 0xe8a33d 0x4f9d77 0xd95f5f 0x8268ad 0x35a0a8 0x8a6a4f 0x555555"
colour(c) = int(word(palette, int(c) + 1))
section_top(s) = top + (s == 2 ? section_height(1) : 0)
array about[2] = ["Collectives: time over bytes that a worker contributes", "Compressors: time over elements"]

set multiplot
# What stands around the panels.
set lmargin at screen 0
set rmargin at screen 1
set bmargin at screen 0
set tmargin at screen 1
unset border
unset xtics
unset ytics
set label heading at screen X(left), Y(26) font ",15" noenhanced
set label "medians with 5th to 95th percentile, fitted curves; grey: error on sizes held out" \
    at screen X(left), Y(50) font ",10" textcolor rgb "#666666"
do for [s = 1:2] {
    if (sections[s] > 0) { set label about[s] at screen X(left), Y(section_top(s) + 18) font ",12" }
}
if (words(workers) > 0 && sections[1] > 0) {
    do for [w = 1:words(workers)] {
        at_x = width - right - 46 * (words(workers) - w) - 22
        set label word(workers, w) at screen X(at_x), Y(section_top(1) + 18) \
            point pointtype 7 pointsize 0.8 linecolor rgb colour(w - 1) offset 0.8, 0
    }
    set label "workers" at screen X(width - right - 46 * words(workers)), \
        Y(section_top(1) + 18) right textcolor rgb "#666666"
}
plot [0:1] [0:1] -1 notitle
unset label

set border 3 linecolor rgb "#888888"
set logscale xy
set grid xtics ytics linetype 1 linecolor rgb "#e6e6e6"
unset mxtics
unset mytics

panel = 0
do for [s = 1:2] {
    set xrange [ranges[4*s-3] / 1.5 : ranges[4*s-2] * 1.5]
    set yrange [ranges[4*s-1] / 1.8 : ranges[4*s] * 2.5]
    spread = log10(ranges[4*s-2] / ranges[4*s-3])
    decades = log10(ranges[4*s] / ranges[4*s-1])
    do for [i = 0:sections[s] - 1] {
        column = i % columns
        row = i / columns
        x = left + column * (panel_width + gap)
        y = section_top(s) + band + row * (panel_height + gap)
        set lmargin at screen X(x)
        set rmargin at screen X(x + panel_width)
        set tmargin at screen Y(y)
        set bmargin at screen Y(y + panel_height)
        outer_left = column == 0
        outer_low = i + columns >= sections[s]

        set xtics ("" 1) nomirror scale 0.4 textcolor rgb "#333333"
        if (s == 1) {
            array units[5] = ["B", "KiB", "MiB", "GiB", "TiB"]
            do for [power = 0:49] {
                if (spread > 3 ? power % 5 == 0 : power % 2 == 0) {
                    # So few names that those of neighbouring panels do not meet.
                    named = spread > 3 ? power % 10 == 0 : (power - 10) % 4 == 0
                    text = named ? sprintf("%d %s", 2**(power % 10), units[power / 10 + 1]) : ""
                    set xtics add ((outer_low ? text : "") 2.0**power)
                }
            }
        } else {
            array powers[13] = ["1", "10", "100", "10^3", "10^4", "10^5", "10^6", "10^7", "10^8", "10^9", "", "", ""]
            do for [power = 0:12] {
                set xtics add ((outer_low ? powers[power + 1] : "") 10.0**power)
            }
        }
        set ytics ("" 1) nomirror scale 0.4 textcolor rgb "#333333"
        do for [power = -9:5] {
            unit = power < -6 ? "ns" : power < -3 ? "µs" : power < 0 ? "ms" : "s"
            scale_power = power < -6 ? -9 : power < -3 ? -6 : power < 0 ? -3 : 0
            text = sprintf("%.0f %s", 10.0**(power - scale_power), unit)
            set ytics add ((outer_left && (decades < 7 || power % 2 == 0) ? text : "") 10.0**power)
        }
        set label 1 names[panel + 1] at graph 0.04, graph 0.92 font ",12" noenhanced front
        set label 2 choices[panel + 1] at graph 0.97, graph 0.06 right font ",9" textcolor rgb "#777777" noenhanced front
        plot data using ($1 == panel && strcol(5) eq "curve" ? $6 : NaN):7:(colour($2)) \
                 with lines linewidth 1.2 linecolor rgb variable notitle, \
             data using ($1 == panel && strcol(5) eq "point" ? $6 : NaN):7:8:9:(colour($2)) \
                 with yerrorbars pointtype 7 pointsize 0.6 linewidth 1 linecolor rgb variable notitle
        panel = panel + 1
    }
}
unset multiplot
