# PyPI's CUDA build of vLLM, resolved by pip, and the project with its test tools.
DEVICE=gpu
. "$(dirname "$0")/venv.sh"

echo "setup: vLLM (CUDA build) and verispec (editable)"
pip install --editable '.[gpu,ray,dev]' 2>"$LOG" ||
  die "the CUDA environment could not be installed: $(grep -m1 ERROR "$LOG" || tail -1 "$LOG")"
