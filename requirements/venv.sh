# Makes $VENV with $PYTHON; sourced by cpu.sh and gpu.sh.
set -euo pipefail
die() { printf 'setup: %s\n' "$*" >&2; exit 3; }

"$PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null ||
  die "$PYTHON is missing or older than Python 3.11; set PYTHON=, for example: make setup PYTHON=python3.11"
for other in "$VENV"/.ready-*; do  # made for another device: CPU and CUDA builds do not mix
  [ ! -e "$other" ] || [ "$other" = "$VENV/.ready-$DEVICE" ] || rm -rf "$VENV"
done
[ -x "$VENV/bin/python" ] || "$PYTHON" -m venv "$VENV" ||
  die "cannot make a virtual environment in $VENV; on Debian: apt-get install python3-venv"
pip() { "$VENV/bin/python" -m pip --disable-pip-version-check --quiet "$@"; }
LOG="$VENV/setup.log"
