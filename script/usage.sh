# For scripts to source: asked for --help, they print the comment at their top, and end.
case ${1:-} in
-h | --help)
    sed -n '2,/^[^#]/{s/^# \{0,1\}//p}' "$0"
    exit 0
    ;;
esac
