"""Puts the records of a run together: one compressed file a mode, the programs, and a manifest with their hashes."""
import hashlib
import json
import lzma
from collections import Counter

import schedule

PRESET = 9 | lzma.PRESET_EXTREME


def compressed(path, lines):
    """Writes lines of JSON as .xz; (size, sha256 of the file, sha256 of what is inside)."""
    inside = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines).encode()
    data = lzma.compress(inside, preset=PRESET)
    path.write_bytes(data)
    return {"file": path.name, "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest(), "lines": len(lines)}


def collect(folder, programs, versions, how):
    report = folder / "report"
    report.mkdir(exist_ok=True)
    place = {name: at for at, name in enumerate(programs)}
    generated = folder / "programs"
    texts = []
    for name, path in programs.items():
        data = path.read_bytes()
        texts.append({"name": name, "origin": "generated" if path.parent == generated else "public",
                      "sha256": hashlib.sha256(data).hexdigest(), "program": json.loads(data)})
    manifest = {"schema": "reprise-cohort/1", "format": "reprise-conformance/1", **how, "versions": versions,
                "public": sum(t["origin"] == "public" for t in texts),
                "programs": compressed(report / "programs.jsonl.xz", texts), "records": 0, "modes": []}
    for mode in schedule.MODES.values():
        part = folder / "parts" / f"{mode.name}.jsonl"
        if not part.exists():
            continue
        records = [r for name, r in schedule.Schedule.recorded(part).items() if name in place]
        records.sort(key=lambda r: place[r["program"]])
        manifest["modes"].append({"mode": mode.name, "framework": mode.framework, "about": mode.about,
                                  **compressed(report / f"{mode.name}.jsonl.xz", records),
                                  "verdicts": dict(sorted(Counter(r["verdict"] for r in records).items()))})
        manifest["records"] += len(records)
    (report / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n")
    return manifest
