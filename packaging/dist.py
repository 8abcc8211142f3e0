#!/usr/bin/env python3
"""Makes what a release consists of, in BUILD/dist, from what make has built. `make dist` calls it:
    dist.py BUILD VERSION URL
- peakd-VERSION.tar.gz: the sources of the commit
- peakd-VERSION-linux-ARCH.tar.gz: the bundle, which needs no root and no packages
- peakd-mcp-VERSION-linux-ARCH.mcpb: the same for clients that install MCP servers (MCPB, manifest version 0.3)
- peakd-VERSION-oci-ARCH.tar: a container image (OCI image layout 1.0), where BUILD/image.tar has its files (image.sh)
- the Debian package
- server.json: for the MCP registry, with the package above at URL, where the release's files will be
- SHA256SUMS
The same commit and build give the same bytes.
"""
import gzip
import hashlib
import io
import json
import os
import platform
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

build, version, url = Path(sys.argv[1]), sys.argv[2], sys.argv[3].rstrip("/")
root = Path(__file__).resolve().parent.parent
out = build / "dist"
machine = platform.machine()
oci_machine = {"x86_64": "amd64", "aarch64": "arm64"}.get(machine, machine)


def git(*words):
    return subprocess.run(["git", "-C", root, *words], check=True, capture_output=True).stdout


when = int(git("log", "-1", "--format=%ct"))


def sha256(path):
    h = hashlib.sha256()
    with open(path, "rb") as f:
        while piece := f.read(1 << 20):
            h.update(piece)
    return h.hexdigest()


def compress(source, to):
    with open(to, "wb") as f, gzip.GzipFile(filename="", fileobj=f, mode="wb", compresslevel=6, mtime=when) as z:
        shutil.copyfileobj(source, z, 1 << 20)


def files_of(folder):
    return sorted(p for p in folder.rglob("*") if p.is_file() or p.is_symlink())


def pack(tar, folder, prefix):
    for path in files_of(folder):
        info = tar.gettarinfo(path, f"{prefix}{path.relative_to(folder)}")
        info.uid = info.gid = 0
        info.uname = info.gname = "root"
        info.mtime = when
        with open(path, "rb") as f:
            tar.addfile(info, f)


def archive_sources():
    name = f"peakd-{version}"
    compress(io.BytesIO(git("archive", f"--prefix={name}/", "HEAD")), out / f"{name}.tar.gz")


def archive_bundle():
    name = f"peakd-{version}-linux-{machine}"
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w") as tar:
        pack(tar, build / "bundle", f"{name}/")
    plain.seek(0)
    compress(plain, out / f"{name}.tar.gz")


def archive_mcpb(server):
    manifest = {
        "manifest_version": "0.3",
        "name": "peakd",
        "display_name": server["title"],
        "version": version,
        "description": server["description"],
        "author": {"name": "the peakd authors"},
        "server": {
            "type": "binary",
            "entry_point": "peakd",
            "mcp_config": {"command": "${__dirname}/peakd", "args": ["stdio"], "env": {"PEAKD_MODEL": "${user_config.model}"}},
        },
        "tools_generated": True,
        "keywords": ["gpu", "cuda", "hip", "hlsl", "kernel", "performance"],
        "user_config": {
            "model": {
                "type": "string",
                "title": "Model",
                "description": "openai:URL?model=NAME or anthropic:URL?model=NAME; empty: the client's own model does the work",
                "required": False,
                "default": "",
            }
        },
        "compatibility": {"platforms": ["linux"]},
    }
    path = out / f"peakd-mcp-{version}-linux-{machine}.mcpb"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as z:

        def add(name, data, mode):
            info = zipfile.ZipInfo(name)  # the time is that of ZIP's beginning: the same bytes again
            info.external_attr = (0o100000 | mode) << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            z.writestr(info, data)

        add("manifest.json", json.dumps(manifest, indent=2) + "\n", 0o644)
        for p in files_of(build / "bundle"):
            add(str(p.relative_to(build / "bundle")), p.read_bytes(), p.stat().st_mode & 0o777)
    return path


def archive_image(server):
    layer_tar = build / "image.tar"
    if not layer_tar.exists():
        return
    folder = build / "oci"
    shutil.rmtree(folder, ignore_errors=True)
    blobs = folder / "blobs" / "sha256"
    blobs.mkdir(parents=True)

    def put(path, media):
        digest, size = sha256(path), path.stat().st_size
        path.rename(blobs / digest)
        return {"mediaType": f"application/vnd.oci.image.{media}", "digest": f"sha256:{digest}", "size": size}

    def put_json(value, media):
        path = folder / "value"
        path.write_text(json.dumps(value, sort_keys=True))
        return put(path, media)

    with open(layer_tar, "rb") as f:
        compress(f, folder / "layer")
    layer = put(folder / "layer", "layer.v1.tar+gzip")
    # Only what is served inside is reached: a port that is published needs a token and a certificate (peakd serve --help).
    config = {
        "architecture": oci_machine,
        "os": "linux",
        "config": {
            "User": "peakd",
            "Env": ["PATH=/usr/sbin:/usr/bin:/sbin:/bin", "PEAKD_DB=/var/lib/peakd/peakd.db", "XDG_CACHE_HOME=/tmp",
                    "NVIDIA_VISIBLE_DEVICES=all", "NVIDIA_DRIVER_CAPABILITIES=compute,utility,graphics"],
            "Entrypoint": ["/usr/bin/peakd"],
            "Cmd": ["stdio"],
            "Volumes": {"/var/lib/peakd": {}},
            "WorkingDir": "/tmp",
            "Labels": {"io.modelcontextprotocol.server.name": server["name"], "org.opencontainers.image.version": version},
            "StopSignal": "SIGTERM",
        },
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{sha256(layer_tar)}"]},
    }
    manifest = {"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
                "config": put_json(config, "config.v1+json"),
                "layers": [layer]}
    entry = put_json(manifest, "manifest.v1+json")
    entry["platform"] = {"architecture": oci_machine, "os": "linux"}
    entry["annotations"] = {"org.opencontainers.image.ref.name": version}
    (folder / "index.json").write_text(json.dumps({"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json",
                                                   "manifests": [entry]}))
    (folder / "oci-layout").write_text(json.dumps({"imageLayoutVersion": "1.0.0"}))
    with tarfile.open(out / f"peakd-{version}-oci-{oci_machine}.tar", "w") as tar:
        pack(tar, folder, "")


def write_server(server, mcpb):
    server["version"] = version
    server["packages"] = [
        {
            "registryType": "mcpb",
            "identifier": f"{url}/{mcpb.name}",
            "version": version,
            "fileSha256": sha256(mcpb),
            "transport": {"type": "stdio"},
            "environmentVariables": [
                {"name": "PEAKD_MODEL",
                 "description": "The model that applies transformations: openai:URL?model=NAME or anthropic:URL?model=NAME"},
                {"name": "PEAKD_DB", "description": "The database", "format": "filepath"},
            ],
        }
    ]
    (out / "server.json").write_text(json.dumps(server, indent=2) + "\n")


def main():
    server = json.loads((root / "server.json").read_text())
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    archive_sources()
    archive_bundle()
    archive_image(server)
    for deb in build.glob(f"peakd_{version}_*.deb"):
        shutil.copy(deb, out)
    write_server(server, archive_mcpb(server))
    sums = "".join(f"{sha256(p)}  {p.name}\n" for p in sorted(out.iterdir()))
    (out / "SHA256SUMS").write_text(sums)
    for p in sorted(out.iterdir()):
        print(f"{p}: {os.path.getsize(p) / 1048576:.1f} MiB")


main()
