#!/usr/bin/env python3
"""Turns the weights of a PyTorch encoder into a file for the key `model.init`.

    reprise train CONFIG train.epochs=0 run.dir=like    # a checkpoint with every tensor of the model
    python3 tools/from_torch.py weights.pt like/checkpoint.safetensors init.safetensors
    reprise train CONFIG model.init=init.safetensors

weights.pt is what torch.save(model.state_dict(), ...) wrote (needs torch), or a safetensors file. The names may be those of
checkpoints (backbone.layer1.0.conv1.weight, as `reprise export` shows them) or those of torchvision's ResNets for CIFAR
(conv1, bn1, layer1.0.downsample.0, ...), with or without a prefix such as "module." or "encoder.". Tensors that the weights
do not have, such as a queue, stay as in the second file; a key encoder ("key.") becomes a copy of the encoder. Tensors of
the optimiser are left out. A tensor of the encoder that is missing, or has another shape, is an error.
"""
import json
import re
import struct
import sys

DTYPES = {"F32": ("f", 4), "I64": ("q", 8), "F64": ("d", 8), "I32": ("i", 4), "U8": ("B", 1), "BOOL": ("?", 1)}


def read_safetensors(path):
    """{name: (dtype, shape, bytes)}; kept as bytes, so that nothing but the standard library is needed."""
    with open(path, "rb") as file:
        data = file.read()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + length])
    header.pop("__metadata__", None)
    return {name: (t["dtype"], t["shape"], data[8 + length + t["data_offsets"][0]:8 + length + t["data_offsets"][1]])
            for name, t in header.items()}


def read_weights(path):
    with open(path, "rb") as file:
        start = file.read(9)
    if len(start) == 9 and start[8:9] == b"{":
        return read_safetensors(path)
    import torch
    state = torch.load(path, map_location="cpu", weights_only=True)
    state = state.get("state_dict", state)
    return {name: ("F32", list(t.shape), t.detach().float().contiguous().numpy().tobytes())
            for name, t in state.items() if t.is_floating_point()}


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
                sys.exit(f"error: expected {source} among the weights, got only " + ", ".join(sorted(ours)[:8]) + ", ...")
            continue
        if ours[source][:2] != (dtype, shape):
            sys.exit(f"error: expected {source} as {dtype} {shape}, got {ours[source][0]} {ours[source][1]}")
        tensors[name] = ours[source]
        taken.add(source)
    for name in sorted(set(ours) - taken):
        print(f"left out: {name}, which the model does not have", file=sys.stderr)
    return tensors


def write_safetensors(path, tensors):
    """Header length, JSON header, then the bytes; wider types first."""
    order = sorted(tensors, key=lambda name: (-DTYPES[tensors[name][0]][1], name))
    header, at = {}, 0
    for name in order:
        dtype, shape, data = tensors[name]
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + len(data)]}
        at += len(data)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(tensors[name][2] for name in order))


def main():
    if len(sys.argv) != 4 or sys.argv[1] in ("-h", "--help"):
        sys.exit(__doc__)
    weights, like, out = sys.argv[1:]
    tensors = convert(read_weights(weights), read_safetensors(like))
    write_safetensors(out, tensors)
    print(f"{out}: {len(tensors)} tensors")


if __name__ == "__main__":
    main()
