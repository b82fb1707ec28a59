"""python -m verispec_bench.cli"""

from verispec_bench.cli import main

main()
