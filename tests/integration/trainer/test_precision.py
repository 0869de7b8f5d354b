"""In which type products are computed where the configuration leaves it open."""

from __future__ import annotations

import pytest

from yt8m.components.trainer.cluster import strategy
from yt8m.components.trainer.config import Precision

LIMITS = ("ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA")


@pytest.fixture(autouse=True)
def processor_with_bf16(monkeypatch):
    class CpuInfo:
        def __init__(self, _path):
            pass

        def read_text(self, **_kwargs):
            return "processor : 0\nflags\t: fpu avx512f avx512_bf16 amx_bf16\n"

    monkeypatch.setattr(strategy, "Path", CpuInfo)
    for name in LIMITS:
        monkeypatch.delenv(name, raising=False)


def test_bfloat16_where_the_processor_multiplies_it():
    assert strategy.compute_dtype(Precision.AUTO) == "bfloat16"


@pytest.mark.parametrize("name", LIMITS)
@pytest.mark.parametrize(
    ("limit", "dtype"),
    [
        ("AVX2", "float32"),
        ("avx512_core", "float32"),
        ("AVX512_CORE_VNNI", "float32"),
        ("AVX512_CORE_BF16", "bfloat16"),
        ("AVX512_CORE_AMX", "bfloat16"),
        ("default", "bfloat16"),
    ],
)
def test_onednn_limited_to_older_instructions_means_float32(monkeypatch, name, limit, dtype):
    monkeypatch.setenv(name, limit)
    assert strategy.compute_dtype(Precision.AUTO) == dtype
