"""Models in GGUF files as the `gguf` package writes them."""

from __future__ import annotations

from typing import NamedTuple

import gguf
import numpy as np
import pytest
from gguf import GGMLQuantizationType as Type

import memscape as ms


class Shape(NamedTuple):
    """A Llama."""

    hidden: int = 256
    ffn: int = 512
    heads: int = 4
    kv_heads: int = 2
    vocab: int = 1024
    layers: int = 2


SMALL = Shape()


def tensors(llama, kind):
    """Name, rows, columns and type of each tensor, norms apart."""
    hidden, ffn, kv = llama.hidden, llama.ffn, llama.hidden // llama.heads * llama.kv_heads
    layer = {
        "attn_q": (hidden, hidden),
        "attn_k": (kv, hidden),
        "attn_v": (kv, hidden),
        "attn_output": (hidden, hidden),
        "ffn_gate": (ffn, hidden),
        "ffn_up": (ffn, hidden),
        "ffn_down": (hidden, ffn),
    }
    yield "token_embd.weight", (llama.vocab, hidden), kind("token_embd", 0)
    yield "output.weight", (llama.vocab, hidden), kind("output", 0)
    for at in range(llama.layers):
        for name, shape in layer.items():
            yield f"blk.{at}.{name}.weight", shape, kind(name, at)


def write(path, kind, llama=SMALL, **options):
    """A Llama whose matrices are of the types that `kind` says by name and layer."""
    writer = gguf.GGUFWriter(path, "llama", **options)
    writer.add_name("Small")
    writer.add_block_count(llama.layers)
    writer.add_context_length(2048)
    writer.add_embedding_length(llama.hidden)
    writer.add_feed_forward_length(llama.ffn)
    writer.add_head_count(llama.heads)
    writer.add_head_count_kv(llama.kv_heads)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list([f"<{it}>" for it in range(llama.vocab)])
    writer.add_token_types([1] * llama.vocab)
    for name, shape, of in tensors(llama, kind):
        if of == Type.F32:
            writer.add_tensor(name, np.zeros(shape, dtype=np.float32))
        else:
            data = np.zeros(gguf.quant_shape_to_byte_shape(shape, of), dtype=np.uint8)
            writer.add_tensor(name, data, raw_dtype=of)
    for name in ["output_norm", *(f"blk.{at}.{it}_norm" for at in range(llama.layers) for it in ("attn", "ffn"))]:
        writer.add_tensor(f"{name}.weight", np.ones(llama.hidden, dtype=np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def mixed(name, layer):
    """As llama.cpp mixes types: more bits for some values and down projections, and for the head."""
    return Type.Q6_K if name == "output" or (name in ("attn_v", "ffn_down") and layer == 0) else Type.Q4_K


@pytest.fixture
def small(tmp_path):
    return write(tmp_path / "small.Q4_K_M.gguf", mixed)


def test_a_file_is_read_as_its_own_package_reads_it(small):
    read = gguf.GGUFReader(small)
    found = ms.describe(str(small))
    assert found.name == "small.Q4_K_M"
    assert found.facts["tensors"] == len(read.tensors)
    assert found.facts["tensor_bytes"] == sum(int(it.n_bytes) for it in read.tensors)
    assert found.facts["parameters"] == sum(int(it.n_elements) for it in read.tensors)
    assert found.facts["header_bytes"] == read.data_offset
    for kind in (Type.Q4_K, Type.Q6_K, Type.F32):
        of_kind = [it for it in read.tensors if it.tensor_type == kind]
        assert found.facts["types"][kind.name.lower()] == {
            "tensors": len(of_kind),
            "weights": sum(int(it.n_elements) for it in of_kind),
            "bytes": sum(int(it.n_bytes) for it in of_kind),
        }
    assert found.facts["layers"]["attn_v"] == "q4_k: 1; q6_k: 0"
    assert found.parameters["stored"]["v_bits"] == (4.5 + 6.5625) / 2
    assert "stored.v_bits" in repr(found) and "facts.layers.attn_v" in repr(found)


@pytest.mark.parametrize("kind", list(Type), ids=lambda it: it.name)
def test_every_type_of_the_package_has_its_size(tmp_path, kind):
    block, size = gguf.GGML_QUANT_SIZES[kind]
    found = ms.describe(str(write(tmp_path / "one.gguf", lambda *_: kind)))
    assert found.parameters["stored"]["up_bits"] == size * 8 / block
    assert found.parameters["stored"]["main"] == kind.name.lower()


def test_every_system_answers_for_it(tmp_path):
    llama = Shape(hidden=1024, ffn=4096, heads=16, kv_heads=4, vocab=2048, layers=4)

    def q4_k_m(name, layer):
        return Type.Q6_K if name == "output" or (name in ("attn_v", "ffn_down") and layer in (2, 3)) else Type.Q4_K

    path = write(tmp_path / "llama.gguf", q4_k_m, llama)
    table = ms.compare(str(path), prompt_tokens=64, generated_tokens=16)
    assert table["error"].null_count() == table.height, table["error"].drop_nulls().to_list()
    stored = dict(zip(table["platform"], table["format"], strict=True))
    assert stored["npu-xdna2"] == stored["hermes"] == stored["cxl-expander"] == "stored"
    assert stored["sg2042"] == "q4_k_m" and stored["pimnast"] == "int8"


def test_the_bytes_of_the_file_are_what_must_fit(small):
    found = ms.describe(str(small))
    given = {"model": str(small), "prompt_tokens": 64, "generated_tokens": 64}
    answer = ms.run("npu.inference", given)
    cache = 2 * SMALL.layers * SMALL.kv_heads * (SMALL.hidden // SMALL.heads) * 128 * 2
    # The largest product of the prompt: int8 inputs, int16 results of the gate.
    product = 64 * (SMALL.hidden + 2 * SMALL.ffn)
    assert answer["memory_bytes"] == found.facts["tensor_bytes"] + cache + product
    assert ms.run("npu.inference", given, format="fp16")["memory_bytes"] > answer["memory_bytes"]
    with pytest.raises(ms.MemscapeError, match="are missing"):
        ms.run("npu.inference", given, memory_gb=0.001)


def test_parts_are_one_model(tmp_path, small):
    write(tmp_path / "parts.gguf", mixed, split_max_tensors=7)
    parts = sorted(tmp_path.glob("parts-*.gguf"))
    assert [it.name for it in parts] == [f"parts-{at:05}-of-00003.gguf" for at in (1, 2, 3)]
    whole = ms.describe(str(small))
    for part in parts:
        found = ms.describe(str(part))
        assert (found.name, found.facts["files"]) == ("parts", 3)
        assert found.parameters == whole.parameters
    parts[1].unlink()
    with pytest.raises(ms.MemscapeError, match=r"part `parts-00002-of-00003\.gguf`: there is no such file"):
        ms.describe(str(parts[0]))


def test_the_other_byte_order_is_refused_with_the_reason(tmp_path):
    path = write(tmp_path / "big.gguf", mixed, endianess=gguf.GGUFEndian.BIG)
    with pytest.raises(ms.MemscapeError, match="it is big-endian"):
        ms.describe(str(path))


def test_a_file_that_ends_early_is_refused(small):
    whole = small.read_bytes()
    for length in (3, 30, 300, len(whole) // 2, len(whole) - 1):
        small.write_bytes(whole[:length])
        with pytest.raises(ms.MemscapeError, match="is it complete"):
            ms.run("pim.gemv", model=str(small), gemv="qkv")
