"""A page as a browser makes it."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
needs_browser = pytest.mark.skipif(not BROWSER, reason="no Chromium; on Debian: apt-get install chromium")


def opened(page: Path, fragment: str = "") -> tuple[str, list[str]]:
    """The document after its scripts have run, and what they complained of."""
    result = subprocess.run(
        [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--v=0", "--dump-dom",
         f"file://{page}{fragment}"],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    return result.stdout, re.findall(r".*CONSOLE.*", result.stderr)
