# The locked CPU environment: torch's CPU build first, then everything else exactly as locked, then the project.
DEVICE=cpu
. "$(dirname "$0")/venv.sh"

echo "setup: torch (CPU build)"
pip install --no-deps ${TORCH_INDEX:+--extra-index-url "$TORCH_INDEX"} -r requirements/torch-cpu.txt 2>"$LOG" ||
  die "cannot find $(cat requirements/torch-cpu.txt) for $("$PYTHON" -V) in pip's sources.
       PyPI has no CPU builds of torch: set TORCH_INDEX= to PyTorch's CPU wheel index, then: make setup TORCH_INDEX=URL
       (pip's own words are in $LOG)"
echo "setup: vLLM and the locked packages"
pip install --no-deps -r requirements/cpu.txt 2>"$LOG" ||
  die "a locked package could not be installed: $(grep -m1 ERROR "$LOG" || tail -1 "$LOG")"
echo "setup: verispec (editable)"
pip install --no-deps --no-build-isolation --editable . 2>"$LOG" ||
  die "verispec itself could not be installed: $(grep -m1 ERROR "$LOG" || tail -1 "$LOG")"
