./pair2
ncu --kernel-name regex:"^bt" --launch-skip 0 --launch-count 8 --metrics smsp__inst_executed.sum,gpu__time_duration.sum,smsp__issue_active.avg.pct_of_peak_sustained_active,dram__throughput.avg.pct_of_peak_sustained_elapsed,smsp__thread_inst_executed_per_inst_executed.ratio ./pair2 2>&1 | tail -60
cuobjdump -res-usage ./pair2 >/dev/null 2>&1; cuobjdump -sass -fun '_Z2btILi0ELi4EEvPKfS1_S1_ffffffffPfS2_i' ./pair2 > $OUTDIR/bt0.sass 2>&1; ls -la $OUTDIR
