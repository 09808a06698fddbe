#!/usr/bin/env python3
"""Turns the weights of a PyTorch encoder into a file for the key `model.init`.

    reprise train CONFIG train.epochs=0 run.dir=like    # a checkpoint with every tensor of the model
    python3 tools/from_torch.py weights.pt like/checkpoint.safetensors init.safetensors
    reprise train CONFIG model.init=init.safetensors

weights.pt is what torch.save(model.state_dict(), ...) wrote (needs torch), also inside a dictionary as trainers save it
("state_dict", "model_state_dict", "model"), or a safetensors file. The names may be those of
checkpoints (backbone.layer1.0.conv1.weight, as `reprise export` shows them) or those of torchvision's ResNets for CIFAR
(conv1, bn1, layer1.0.downsample.0, ...), with or without a prefix such as "module." or "encoder.". Tensors that the weights
do not have, such as a queue, stay as in the second file; a key encoder ("key.") becomes a copy of the encoder. Tensors of
the optimiser are left out. A tensor of the encoder that is missing, or has another shape, is an error.
Exit codes: 0 done, 1 failure (a full disk; the third file is then as it was), 2 a mistake in what was asked for.
"""
import json
import math
import os
import re
import struct
import sys

# Bytes of an element, for all types of the format.
SIZES = {"F64": 8, "I64": 8, "U64": 8, "F32": 4, "I32": 4, "U32": 4, "F16": 2, "BF16": 2, "I16": 2, "U16": 2, "U8": 1,
         "I8": 1, "BOOL": 1, "F8_E4M3": 1, "F8_E5M2": 1}
# Where trainers put the weights in what they save, beside the epoch and the like.
HOLDERS = ("state_dict", "model_state_dict", "model", "net", "encoder")


def refuse(text):
    print(f"error: {text}", file=sys.stderr)
    sys.exit(2)


def read_bytes(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        refuse(f"cannot read {path}: {error.strerror}")


def parse_safetensors(path, data):
    """{name: (dtype, shape, bytes)}; kept as bytes, so that nothing but the standard library is needed."""
    try:
        (length,) = struct.unpack("<Q", data[:8])
        header = json.loads(data[8:8 + length])
        header.pop("__metadata__", None)
        tensors = {}
        for name, tensor in header.items():
            dtype, shape, (begin, end) = tensor["dtype"], tensor["shape"], tensor["data_offsets"]
            part = data[8 + length + begin:8 + length + end]
            if len(part) != math.prod(shape) * SIZES[dtype]:
                raise ValueError(f"{name} has {len(part)} bytes")
            tensors[name] = (dtype, shape, part)
        return tensors
    except (ValueError, struct.error, KeyError, TypeError, AttributeError, RecursionError) as error:
        refuse(f"expected a safetensors file at {path}, got something else ({error})")


def read_safetensors(path):
    return parse_safetensors(path, read_bytes(path))


def read_weights(path):
    data = read_bytes(path)
    if data[8:9] == b"{":
        return parse_safetensors(path, data)
    try:
        import torch
    except ImportError:
        refuse(f"{path} is no safetensors file; to read what torch.save() wrote, this Python needs the package torch")
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
        state = next((state[key] for key in HOLDERS if isinstance(state.get(key), dict)), state)
        return {name: ("F32", list(t.shape), t.detach().float().contiguous().numpy().tobytes())
                for name, t in state.items() if t.is_floating_point()}
    except Exception as error:  # whatever torch finds wrong with it
        refuse(f"expected what torch.save(model.state_dict(), ...) writes at {path}, got something else ({error})")


def our_name(name):
    """The name in a checkpoint that a name in PyTorch stands for."""
    name = re.sub(r"^(module|model|encoder|encoder_q|net)\.", "", name)
    name = name.replace(".downsample.", ".short.").replace(".shortcut.", ".short.")
    name = re.sub(r"^conv1\.", "stem.", name)
    name = re.sub(r"^bn1\.", "stem_bn.", name)
    if re.match(r"(stem|stem_bn|layer\d+)\.", name):
        name = "backbone." + name
    return name


def convert(weights, like):
    ours = {our_name(name): tensor for name, tensor in weights.items()}
    tensors = {name: tensor for name, tensor in like.items() if not name.startswith("optimiser.")}
    taken = set()
    for name, (dtype, shape, _) in tensors.items():
        source = name[4:] if name.startswith("key.") else name
        if source not in ours:
            if source.startswith("backbone."):
                refuse(f"expected {source} among the weights, got only " + ", ".join(sorted(ours)[:8]) + ", ...")
            continue
        if ours[source][:2] != (dtype, shape):
            refuse(f"expected {source} as {dtype} {shape}, got {ours[source][0]} {ours[source][1]}")
        tensors[name] = ours[source]
        taken.add(source)
    for name in sorted(set(ours) - taken):
        if name.startswith(("key.", "optimiser.")):  # of a checkpoint of ours, and left out as said above
            continue
        print(f"left out: {name}, which the model does not have", file=sys.stderr)
    return tensors


def write_whole(path, data):
    """All of a file or nothing: the old one stays until the new one is on the disk. A device is written through."""
    target = os.path.realpath(path)
    partial = target + ".partial" if os.path.isfile(target) or not os.path.exists(target) else target
    try:
        with open(partial, "wb") as file:
            file.write(data)
            if partial != target:
                file.flush()
                os.fsync(file.fileno())
        if partial != target:
            os.replace(partial, target)
    except OSError:
        if partial != target and os.path.exists(partial):
            os.remove(partial)
        raise


def write_safetensors(path, tensors):
    """Header length, JSON header, then the bytes; wider types first."""
    order = sorted(tensors, key=lambda name: (-SIZES[tensors[name][0]], name))
    header, at = {}, 0
    for name in order:
        dtype, shape, data = tensors[name]
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + len(data)]}
        at += len(data)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    try:
        write_whole(path, struct.pack("<Q", len(text)) + text + b"".join(tensors[name][2] for name in order))
    except OSError as error:
        sys.exit(f"error: cannot write {path}: {error.strerror}")


def main():
    if sys.argv[1:] in (["-h"], ["--help"]):
        print(__doc__.strip())
        return
    if len(sys.argv) != 4:
        refuse("expected weights.pt, a checkpoint and a file to write; --help explains them")
    weights, like, out = sys.argv[1:]
    for path in (weights, like):
        if os.path.isfile(out) and os.path.exists(path) and os.path.samefile(path, out):
            refuse(f"cannot write {out}: it is read from. Name another file")
    tensors = convert(read_weights(weights), read_safetensors(like))
    write_safetensors(out, tensors)
    print(f"{out}: {len(tensors)} tensors")


if __name__ == "__main__":
    main()
