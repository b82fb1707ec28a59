"""A result directory on disk. A run counts once its row stands in cells.csv; until then its raw lines do not."""

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from verispec_bench.client.record import RequestRecord
from verispec_bench.errors import UnusableInput
from verispec_bench.measure import STRUCTURED
from verispec_bench.record.atomic import finite, write_json, write_text
from verispec_bench.record.manifest import identity_differences

_STRUCTURED = (*STRUCTURED, "running_samples")
"""Columns of cells.csv that hold JSON."""


@dataclass(frozen=True)
class Run:
    """One arm serving one block of prompts.

    Attributes:
        cell: id of the cell.
        block, attempt: which prompts; attempts after 0 replace contaminated ones.
        arm: who served.

    """

    cell: str
    block: int
    attempt: int
    arm: str

    @property
    def id(self) -> str:
        """Unique within a result directory."""
        return f"{self.cell}/b{self.block}/a{self.attempt}/{self.arm}"


class ResultDirectory:
    """Reads and writes one directory.

    Args:
        path: the directory; made by `create`, checked by `open`.

    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._rows: dict[str, dict[str, Any]] = {}

    @classmethod
    def create(cls, path: Path, manifest: dict[str, Any]) -> "ResultDirectory":
        """Start a new directory.

        Raises:
            UnusableInput: there is something in it.

        """
        if path.is_dir() and any(path.iterdir()):
            raise UnusableInput(f"{path}: is not empty; add --resume to go on with it, or choose another --out")
        try:
            path.mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError):
            raise UnusableInput(f"{path}: it, or what it lies in, is a file; choose another --out") from None
        results = cls(path)
        results.write_manifest(manifest)
        return results

    @classmethod
    def create_or_resume(cls, path: Path, manifest: dict[str, Any], resume: bool) -> "ResultDirectory":
        """A new directory, or with `resume` an unfinished one of the same identity; half-written runs are dropped.

        Raises:
            UnusableInput: it belongs to another verb, scenario, model, version or machine.

        """
        if not (resume and path.is_dir() and any(path.iterdir())):
            return cls.create(path, manifest)
        results = cls.open(path)
        changed = identity_differences(results.manifest()["identity"], manifest["identity"])
        if changed:
            raise UnusableInput(
                f"{path}: belongs to another run, which would be mixed with this one: {', '.join(changed[:5])} "
                f"{'differ' if len(changed) > 1 else 'differs'}; choose another --out"
            )
        results.drop_unfinished()
        return results

    @classmethod
    def open(cls, path: Path) -> "ResultDirectory":
        """Open an existing directory; nothing in it is changed.

        Raises:
            UnusableInput: it is no result directory, or damaged.

        """
        results = cls(path)
        results.manifest()
        cells = path / "cells.csv"
        if cells.is_file():
            try:
                frame = pd.read_csv(cells, keep_default_na=False, na_values=[""], dtype_backend="numpy_nullable")
            except (OSError, ValueError) as error:
                raise UnusableInput(f"{cells}: damaged: {error}") from error
            if "run" not in frame:
                raise UnusableInput(f"{cells}: damaged: it has no column 'run'")
            for row in frame.to_dict("records"):
                clean = {str(key): None if pd.isna(value) else value for key, value in row.items()}
                try:
                    clean |= {name: json.loads(str(clean[name])) for name in _STRUCTURED if clean.get(name)}
                except ValueError as error:
                    raise UnusableInput(f"{cells}: damaged: run {clean['run']}: {error}") from error
                results._rows[str(clean["run"])] = clean
        return results

    def manifest(self) -> dict[str, Any]:
        """The manifest.

        Raises:
            UnusableInput: there is none, or it is damaged.

        """
        path = self.path / "manifest.json"
        try:
            manifest: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise UnusableInput(f"{self.path}: is no result directory (it holds no manifest.json)") from None
        except (OSError, ValueError) as error:
            raise UnusableInput(f"{path}: damaged: {error}") from error
        if not isinstance(manifest, dict) or not {"identity", "identity_sha256", "complete"} <= manifest.keys():
            raise UnusableInput(f"{path}: is no manifest")
        if not isinstance(manifest["identity"], dict) or not isinstance(manifest.setdefault("servers", {}), dict):
            raise UnusableInput(f"{path}: is no manifest")
        return manifest

    def write_manifest(self, manifest: dict[str, Any]) -> None:
        """Replace the manifest."""
        write_json(self.path / "manifest.json", manifest)

    def add_run(self, run: Run, row: dict[str, Any], records: Sequence[RequestRecord]) -> None:
        """Keep a finished run, unless it is there already: first its raw lines, then its row."""
        if self.has(run):
            return
        lines = [
            json.dumps(finite({"run": run.id, "index": index, **record.as_dict()}), allow_nan=False)
            for index, record in enumerate(records)
        ]
        with (self.path / "requests.jsonl").open("a", encoding="utf-8") as file:
            file.write("".join(line + "\n" for line in lines))
            file.flush()
            os.fsync(file.fileno())
        self._rows[run.id] = {"run": run.id, **finite(row)}
        self._write_rows()

    def _write_rows(self) -> None:
        frame = pd.DataFrame(list(self._rows.values()))
        for name in _STRUCTURED:
            if name in frame:
                frame[name] = [json.dumps(value) if isinstance(value, list | dict) else None for value in frame[name]]
        write_text(self.path / "cells.csv", frame.to_csv(index=False))

    def arrange(self, cells: Sequence[str]) -> None:
        """Put the rows in the order of their cells; within a cell they stay as they were run."""
        place = {cell: index for index, cell in enumerate(cells)}
        self._rows = dict(sorted(self._rows.items(), key=lambda item: place.get(item[1]["cell"], len(place))))
        self._write_rows()

    def has(self, run: Run) -> bool:
        """This run is finished and kept."""
        return run.id in self._rows

    def row(self, run: Run) -> dict[str, Any]:
        """The row of a kept run."""
        return self._rows[run.id]

    def rows(self) -> list[dict[str, Any]]:
        """The rows of all kept runs, in the order in which they were run."""
        return list(self._rows.values())

    def records(self) -> dict[str, list[RequestRecord]]:
        """Raw records of the finished runs, by run id.

        Raises:
            UnusableInput: those of a run are missing.

        """
        found: dict[str, list[tuple[int, RequestRecord]]] = {}
        for line in self._finished_lines():
            run = line.pop("run")
            try:
                found.setdefault(run, []).append((int(line.pop("index")), RequestRecord(**line)))
            except (KeyError, TypeError, ValueError) as error:
                raise UnusableInput(f"{self.path}: requests.jsonl: damaged, or of another version: {error}") from error
        if missing := self._rows.keys() - found.keys():
            raise UnusableInput(f"{self.path}: requests.jsonl lacks the requests of {min(missing)}")
        if holes := [run for run, pairs in found.items() if sorted(i for i, _ in pairs) != list(range(len(pairs)))]:
            raise UnusableInput(f"{self.path}: requests.jsonl: damaged: some requests of {min(holes)} are missing")
        return {run: [record for _, record in sorted(pairs, key=lambda p: p[0])] for run, pairs in found.items()}

    def records_of(self, runs: Iterable[str]) -> dict[str, list[RequestRecord]]:
        """Raw records of some finished runs, by run id."""
        records = self.records()
        return {run: records[run] for run in runs}

    def write_summary(self, summary: dict[str, Any]) -> None:
        """Replace summary.json."""
        write_json(self.path / "summary.json", summary)

    def summary(self) -> dict[str, Any]:
        """summary.json.

        Raises:
            UnusableInput: the sweep has no summary yet.

        """
        try:
            summary: dict[str, Any] = json.loads((self.path / "summary.json").read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise UnusableInput(f"{self.path}: no usable summary.json: {error}") from error
        if not isinstance(summary, dict) or not {"comparisons", "complete"} <= summary.keys():
            raise UnusableInput(f"{self.path}: no usable summary.json; make it again with: verispec report {self.path}")
        return summary

    def drop_unfinished(self) -> None:
        """Remove raw lines of runs that never finished, before the runs are made again."""
        path = self.path / "requests.jsonl"
        if path.is_file():
            write_text(path, "".join(json.dumps(line) + "\n" for line in self._finished_lines()))

    def _finished_lines(self) -> list[dict[str, Any]]:
        path = self.path / "requests.jsonl"
        if not path.is_file():
            return []
        lines = []
        try:
            texts = path.read_text(encoding="utf-8").split("\n")
        except UnicodeDecodeError as error:
            raise UnusableInput(f"{path}: damaged: {error}") from error
        for text in texts:
            try:
                line = json.loads(text)
            except ValueError:
                continue  # the last line of a killed run, cut in the middle
            if isinstance(line, dict) and line.get("run") in self._rows:
                lines.append(line)
        return lines
