# What vLLM's own drafters need beside vLLM: arctic-inference, for its `suffix` method. It is built here, with the torch
# that is installed: in pip's build isolation it would fetch a CUDA build of torch, 3 GB, for code that is not used.
. "$(dirname "$0")/venv.sh"

"$VENV/bin/python" -c 'import arctic_inference.suffix_decoding' 2>/dev/null && exit 0
command -v c++ >/dev/null || die "arctic-inference needs a C++ compiler; on Debian: apt-get install g++"
TOOLS=$(mktemp -d)
trap 'rm -rf "$TOOLS"' EXIT
echo "peers: arctic-inference (built from source)"
pip install --no-deps --target "$TOOLS" nanobind==2.9.2 grpcio-tools cmake ninja setuptools wheel 2>"$LOG" ||
  die "the build tools of arctic-inference could not be installed: $(grep -m1 ERROR "$LOG" || tail -1 "$LOG")"
VIRTUAL_ENV=$(realpath "$VENV") PATH="$TOOLS/bin:$(realpath "$VENV")/bin:$PATH" PYTHONPATH="$TOOLS" \
  pip install --no-deps --no-build-isolation arctic-inference==0.1.1 2>"$LOG" ||
  die "arctic-inference could not be built (the other drafters work without it): $(grep -m1 ERROR "$LOG" || tail -1 "$LOG")"
