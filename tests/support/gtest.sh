# Runs a GoogleTest program and counts what happened. Sourced by tests/run.

# Each distinct reason of a skip once, with the number of tests that gave it.
gtest_skips() {
  awk '/\[ RUN      \]/ { reason = ""; inside = 0; next }
    /: Skipped$/ { inside = 1; next }
    /\[  SKIPPED \] .* ms\)/ {
      name = $0; sub(/.*\[  SKIPPED \] /, "", name); sub(/(, where| \().*/, "", name)
      if (!count[reason]++) { order[++reasons] = reason; first[reason] = name }
      inside = 0; next
    }
    inside && NF { reason = reason (reason == "" ? "" : " ") $0 }
    END {
      for (k = 1; k <= reasons; ++k) {
        more = count[order[k]] - 1
        print "  skipped: " first[order[k]] (more ? " and " more " more" : "") ": " order[k]
      }
    }' "$1"
}

# What failing tests printed.
gtest_failures() {
  awk '/\[ RUN      \]/ { text = "" }
    { text = text "  " $0 "\n" }
    /\[  FAILED  \] .* ms\)/ { printf "%s", text; text = "" }
    /\[       OK \] |\[  SKIPPED \] / { text = "" }' "$1" | head -n 400
}

json_number() { sed -n "s/^ *\"$1\": *\([0-9]*\),*\$/\1/p" "$2" | head -n 1; }  # the program's own total comes first

# run_gtest LOG-STEM PROGRAM FILTER ARGUMENTS...: writes STEM.log and STEM.report (failures and skips, for people), and
# sets gtest_counts to "passed failed skipped".
run_gtest() {
  local stem=$1 program=$2 filter=$3 status=0 ok=0 bad=0 skips=0
  shift 3
  rm -f "$stem.json"
  "$program" --gtest_color=no --gtest_output="json:$stem.json" ${filter:+--gtest_filter="*$filter*"} "$@" \
    > "$stem.log" 2>&1 || status=$?
  if [ -f "$stem.json" ]; then
    bad=$(json_number failures "$stem.json")
    skips=$(grep -c '"result": "SKIPPED"' "$stem.json" || true)
    ok=$(($(json_number tests "$stem.json") - $(json_number disabled "$stem.json") - bad - skips))
    { gtest_failures "$stem.log"; gtest_skips "$stem.log"; } > "$stem.report"
    if [ "$status" -ne 0 ] && [ "$bad" -eq 0 ]; then
      bad=1
      { echo "  ended with status $status though no test failed:"; tail -n 20 "$stem.log" | sed 's/^/  /'; } >> "$stem.report"
    fi
  elif [ "$status" -eq 0 ] && grep -q '^SKIPPED: ' "$stem.log"; then
    skips=1
    sed -n 's/^SKIPPED: /  skipped: /p' "$stem.log" > "$stem.report"
  else
    # It ended before writing its results: count what it got to, and the test that was running as failed.
    ok=$(grep -c '\[       OK \] .* ms)' "$stem.log" || true)
    bad=$(($(grep -c '\[  FAILED  \] .* ms)' "$stem.log" || true) + 1))
    skips=$(grep -c '\[  SKIPPED \] .* ms)' "$stem.log" || true)
    {
      gtest_failures "$stem.log"
      gtest_skips "$stem.log"
      echo "  ended with status $status in the middle; its last lines ($stem.log):"
      tail -n 20 "$stem.log" | sed 's/^/  /'
    } > "$stem.report"
  fi
  gtest_counts="$ok $bad $skips"
}
