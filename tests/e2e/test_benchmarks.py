"""`make bench`: the stages of both pipelines are measured, and what is found becomes one table."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def benchmark(name):
    """One of them as a module: they are programs, and in no package."""
    spec = importlib.util.spec_from_file_location(name, BENCHMARKS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look for it there
    sys.path.insert(0, str(BENCHMARKS))  # as Python does for a program
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(BENCHMARKS))
        del sys.modules[name]
    return module


@pytest.mark.slow
def test_both_pipelines_are_measured_stage_by_stage(tmp_path):
    file = tmp_path / "stages.json"
    command = [sys.executable, "-W", "ignore", BENCHMARKS / "stages.py", "--level", "video"]
    command += ["--sizes", "200", "--repeats", "1", "--json", file]
    subprocess.run(command, check=True, timeout=900)
    rows = json.loads(file.read_text())
    at = {(row["stage"], row["examples"]): row for row in rows}
    for stage in ("ExampleGen", "StatisticsGen", "Transform", "Trainer", "Evaluator", "all"):
        row = at[stage, 200]
        for side in ("ours", "stock"):
            assert row[f"{side}_seconds"] > 0
            assert row[f"{side}_cpu_seconds"] >= 0
            assert row[f"{side}_peak_mib"] > 100
        assert row["times_faster"] > 0
    assert "stock_seconds" not in at["Report", 200]
    parts = sum(row["ours_seconds"] for row in rows if row["stage"] != "all")
    assert parts <= at["all", 200]["ours_seconds"]


@pytest.mark.slow
def test_a_side_that_the_machine_cannot_run_is_told_and_the_rest_is_measured(
    tmp_path, monkeypatch, capsys
):
    stages = benchmark("stages")

    def run(side, level, data, root):
        if side == "stock" and data.name == "data-100":
            raise subprocess.CalledProcessError(-9, "stock")  # as the system kills the largest
        figures = {"seconds": 1.0 if side == "ours" else 4.0, "cpu_seconds": 1.0, "peak_mib": 100}
        return {"ExampleGen": figures, "all": figures}

    monkeypatch.setattr(stages, "in_own_process", run)
    rows = stages.compare(tmp_path, "video", [50, 100], 1)
    assert "video 100 stock: none" in (told := capsys.readouterr().err)
    assert "SIGKILL" in told
    at = {(row["stage"], row["examples"]): row for row in rows}
    assert at["ExampleGen", 50]["times_faster"] == 4.0
    assert at["ExampleGen", 100]["ours_seconds"] == 1.0
    assert "stock_seconds" not in at["ExampleGen", 100]
    assert {row["verdict"] for row in rows} == {"REACHED"}


@pytest.mark.parametrize(
    ("ratios", "peak", "verdict"),
    [
        ([6.1, 6.0, 6.2], 1400, "REACHED"),
        ([5.6, 5.7, 5.8], 1400, "BELOW"),
        ([5.0, 6.5, 6.6], 1400, "NOT_MEASURED"),
        ([6.1, 6.0, 6.2], 1600, "BELOW"),
        ([], 1400, "REACHED"),  # stock cannot run there
    ],
)
def test_the_whole_is_judged_by_its_turns_and_its_memory(ratios, peak, verdict):
    row = {"level": "video", "stage": "all", "examples": 40_000, "ours_peak_mib": peak}
    assert benchmark("stages").verdict_on(row, ratios).name == verdict


@pytest.mark.slow
def test_one_table_for_machines_for_people_and_with_plots(tmp_path):
    table = benchmark("table")
    verdict = table.Verdict
    common = {"level": "video", "stage": "StatisticsGen", "ours_cpu_seconds": 1.0}
    rows = [
        {**common, "examples": 10, "ours_seconds": 2.5, "stock_seconds": 5.0, "times_faster": 2.0},
        {**common, "examples": 99, "ours_seconds": 4.0, "stock_seconds": 80.0, "times_faster": 20},
        {**common, "examples": 500, "ours_seconds": 9.0},  # where the stock side was killed
    ]
    parts = {part.name: part for part in table.PARTS}
    outcomes = [
        table.Outcome(
            part=parts["stages"], seconds=7.0, verdict=verdict.REACHED, rows=rows, lines=""
        ),
        table.Outcome(
            part=parts["generator"],
            seconds=1.0,
            verdict=verdict.BELOW,
            rows=None,
            lines="8,100 <a s>\n",
        ),
    ]
    table.write(outcomes, tmp_path)
    assert json.loads((tmp_path / "benchmarks.json").read_text())["stages"] == rows
    text = (tmp_path / "benchmarks.md").read_text()
    assert "| video: StatisticsGen | 99 | 4.0 | 80.0 | 20 | 1.0 |" in text
    assert "| video: StatisticsGen | 500 | 9.0 |  |  | 1.0 |" in text
    assert "**below a goal**" in text
    page = (tmp_path / "benchmarks.html").read_text()
    assert page.count("<figure") == 1
    assert "8,100 &lt;a s&gt;" in page


@pytest.mark.slow
def test_a_run_of_any_size_is_measured_whole_and_interrupted_in_each_heavy_step(tmp_path):
    file = tmp_path / "rows.json"
    command = [sys.executable, BENCHMARKS / "full_size.py", "--place", tmp_path, "--json", file]
    command += ["--train", "1200", "--eval", "400", "--shards", "2", "--classes", "50"]
    command += ["--presets", "smoke", "--interrupt-after", "0"]
    subprocess.run(command, check=True, timeout=900)
    whole, stopped = json.loads(file.read_text())
    assert whole["verdict"] == stopped["verdict"] == "pushed"
    assert stopped["gap"] == whole["gap"]
    assert stopped["cost"] == pytest.approx(stopped["seconds"] - whole["seconds"], abs=0.1)
    for step in benchmark("full_size").HEAVY:
        assert whole["steps"][step]["seconds"] > 0
        assert whole["steps"][step]["peak_mib"] > 100


@pytest.mark.slow
def test_of_remote_shards_bytes_and_requests_of_each_reader_are_counted():
    command = [sys.executable, "-W", "ignore", BENCHMARKS / "remote_index.py", "--examples", "300"]
    done = subprocess.run(command, check=True, timeout=900, capture_output=True, text=True)
    rows = [line.strip("| ").split(" | ") for line in done.stdout.splitlines()[2:]]
    assert [row[0] for row in rows] == ["frame"] * 4 + ["video"] * 4
    off, sample, _, later = rows[:4]
    assert int(off[4]) == int(sample[4]) == 301 + 2  # of two shards, one with a single record
    assert int(sample[2].replace(",", "")) == (300 - 256) * 16
    assert int(later[4]) == 2
    assert {row[3] for row in rows if row[1] == "full"} == {"100.0000%"}


def test_from_which_size_an_engine_pays_follows_from_processor_seconds():
    engines = benchmark("beam_engines")

    def seconds(workers, examples):
        """10 + 1 ms a video here; on an engine 40, and 1.2 ms a video, which two share evenly."""
        return 10 + examples / 1000 if workers == engines.HERE else 40 + 1.2e-3 * examples / workers

    rows = [
        {"stage": "a", "workers": n, "examples": size, "processor_seconds": [seconds(n, size), 1.0]}
        for n in (engines.HERE, 1, 2)
        for size in (10_000, 50_000)
    ]
    formula, two, *_, sixteen = engines.break_even(rows)
    assert "10.0 + 1000 us a video in this process, 40.0 + 1200 us / workers" in formula
    assert two == "2 workers are done sooner than this process from 75,000 videos on."
    assert sixteen.endswith("from 32,432 videos on.")


@pytest.mark.parametrize(
    ("turns", "verdict"),
    [
        ([0.80, 0.81, 0.82], "REACHED"),
        ([0.74, 0.75, 0.76], "REACHED"),  # whether the median is above it is chance
        ([0.72, 0.73, 0.74], "BELOW"),
        ([0.60, 0.73, 0.74], "NOT_MEASURED"),
        ([0.80, 0.90, 1.00], "NOT_MEASURED"),  # nor is a goal reached by turns that differ
    ],
)
def test_turns_say_whether_a_goal_is_reached_only_where_they_agree(turns, verdict):
    row = benchmark("verdicts").judged(turns, 0.75)
    assert row["verdict"] == verdict
    assert row["ratio"] == sorted(turns)[1]


@pytest.mark.parametrize(
    ("found", "counts", "times"),
    [
        (["REACHED", "BELOW"], "REACHED", 1),
        (["NOT_MEASURED", "REACHED"], "REACHED", 2),
        (["NOT_MEASURED", "NOT_MEASURED"], "NOT_MEASURED", 2),
        (["BELOW", "REACHED"], "REACHED", 2),
        (["BELOW", "BELOW"], "BELOW", 2),
    ],
)
def test_what_has_not_reached_its_goal_is_measured_once_more(found, counts, times):
    rows = iter([{"verdict": verdict} for verdict in found])
    assert benchmark("verdicts").measured(lambda: next(rows))["verdict"] == counts
    assert len(list(rows)) == len(found) - times


@pytest.mark.parametrize(
    ("codes", "ends", "told"),
    [
        ({"ingest": 0, "predict": 0}, 0, []),
        ({"ingest": 0, "predict": 3}, 0, ["predict: not measured: the turns differ"]),
        ({"ingest": 1, "predict": 3}, 1, ["ingest: below a goal", "predict: not measured"]),
        ({"ingest": 0, "predict": -9}, 1, ["predict: below a goal"]),  # it was killed
    ],
)
def test_the_table_ends_with_1_only_where_a_part_is_below_a_goal(
    codes, ends, told, tmp_path, monkeypatch, capsys
):
    """Each part is a program here, too, that ends with such a code."""
    table = benchmark("table")
    for name, code in codes.items():
        end = f"sys.exit({code})" if code >= 0 else f"os.kill(os.getpid(), {-code})"
        (tmp_path / f"{name}.py").write_text(f"import os, sys\n{end}\n")
    (tmp_path / "page.html").write_text((BENCHMARKS / "page.html").read_text())
    monkeypatch.setattr(table, "HERE", tmp_path)
    out = tmp_path / "out"
    monkeypatch.setattr(sys, "argv", ["table.py", "--out", str(out), "--only", *codes])
    assert table.main() == ends
    said = capsys.readouterr().out
    assert all(text in said for text in told)
    assert ("**not measured" in (out / "benchmarks.md").read_text()) is (3 in codes.values())
