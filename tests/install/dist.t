#!/bin/sh
# packaging/dist.py, on a small stand-in of a bundle: archives, MCPB package, container image and server.json hold together, and the
# MCPB package's command speaks MCP. (make dist itself takes minutes.)
. "$(dirname "$0")/../daemon/lib.sh"
mkdir -p "$T/build/bundle/bin" "$T/content/usr/bin"
printf '#!/bin/sh\nexec "%s" "$@"\n' "$peakd" >"$T/build/bundle/peakd"
chmod 755 "$T/build/bundle/peakd"
echo program >"$T/build/bundle/bin/peakd"
cp "$T/build/bundle/bin/peakd" "$T/content/usr/bin"
tar -C "$T/content" -cf "$T/build/image.tar" usr
echo package >"$T/build/peakd_9.8.7_amd64.deb"
git -C "$root" log -1 >/dev/null 2>&1 || skip_rest 13 "not a git checkout: there is no commit to archive"
make_dist()
{
	python3 "$root/packaging/dist.py" "$T/build" 9.8.7 https://example.org/mcp/v9.8.7/ >"$T/out" 2>&1
}
make_dist
is $? 0 "the release is made" "$(cat "$T/out")"
cd "$T/build/dist" || exit 1
is "$(sha256sum -c SHA256SUMS 2>&1 | grep -vc ': OK$')" 0 "every checksum is right"
is "$(sha256sum -c SHA256SUMS | wc -l)" "$(($(ls | wc -l) - 1))" "every file has a checksum"
has "$(tar -tzf peakd-9.8.7.tar.gz)" "peakd-9.8.7/Makefile" "the source archive has the sources"
tar -xzf peakd-9.8.7-linux-*.tar.gz -C "$T"
[ -x "$T"/peakd-9.8.7-linux-*/peakd ]
ok $? "the bundle's launcher can be executed"

# Rules of the registry's schema (2025-12-11, Package), and of its own: mcpb files have "mcp" in their URL and a hash.
is "$(jq '(.packages | length == 1 and (.[0] | .registryType == "mcpb" and (.identifier | test("^https://.*mcp")) and .transport.type == "stdio"
	and (.fileSha256 | test("^[a-f0-9]{64}$")) and .version == "9.8.7" and (keys - ["registryType", "registryBaseUrl", "identifier",
	"version", "fileSha256", "runtimeHint", "transport", "runtimeArguments", "packageArguments", "environmentVariables"] == [])))
	and .version == "9.8.7"' server.json)" true "server.json names the MCPB package as the registry's schema wants"
mcpb=$(ls *.mcpb)
is "$(jq -r '.packages[0].fileSha256' server.json)" "$(sha256sum "$mcpb" | cut -d' ' -f1)" \
	"server.json has the hash of the MCPB package"
is "$(jq -r '.packages[0].identifier' server.json)" "https://example.org/mcp/v9.8.7/$mcpb" \
	"server.json has the address of the MCPB package"
python3 - "$mcpb" "$T/extension" <<'PY'
import os, sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as z:
    for info in z.infolist():
        os.chmod(z.extract(info, sys.argv[2]), info.external_attr >> 16 & 0o777)
PY
manifest=$T/extension/manifest.json
is "$(jq -c '[.manifest_version, .name, .version, .server.type, .server.entry_point, .compatibility.platforms[0]]' "$manifest")" \
	'["0.3","peakd","9.8.7","binary","peakd","linux"]' "the MCPB manifest has what its specification requires"
command=$(jq -r --arg folder "$T/extension" \
	'.server.mcp_config | [.command] + .args | map(gsub("\\$\\{__dirname\\}"; $folder)) | join(" ")' "$manifest")
printf '%s\n' "$HELLO" | PEAKD_DB="$T/e.db" timeout 60 $command >"$T/said" 2>"$T/err"
has "$(cat "$T/said")" '"serverInfo"' "the MCPB package's command speaks MCP" "$(cat "$T/err")"

# The image: every descriptor names a blob of its size and hash, and the layer's content is what diff_ids says.
mkdir "$T/layout"
tar -xf peakd-9.8.7-oci-*.tar -C "$T/layout"
python3 - "$T/layout" "$T/build/image.tar" >"$T/out" 2>&1 <<'PY'
import gzip, hashlib, json, sys
layout, source = sys.argv[1:]
def blob(d):
    kind, digest = d["digest"].split(":")
    data = open(f"{layout}/blobs/{kind}/{digest}", "rb").read()
    assert len(data) == d["size"] and hashlib.sha256(data).hexdigest() == digest, d
    return data
assert json.load(open(layout + "/oci-layout"))["imageLayoutVersion"] == "1.0.0"
manifest = json.loads(blob(json.load(open(layout + "/index.json"))["manifests"][0]))
config = json.loads(blob(manifest["config"]))
layer = gzip.decompress(blob(manifest["layers"][0]))
assert layer == open(source, "rb").read()
assert config["rootfs"]["diff_ids"] == ["sha256:" + hashlib.sha256(layer).hexdigest()]
assert config["config"]["Labels"]["io.modelcontextprotocol.server.name"] == "io.github.peakd/peakd"
PY
is $? 0 "the container image is an OCI image layout with the registry's label" "$(cat "$T/out")"
cp SHA256SUMS "$T/first"
make_dist
is "$(cat "$T/build/dist/SHA256SUMS")" "$(cat "$T/first")" "the same commit and build give the same bytes"
rm "$T/build/image.tar"
make_dist
is "$(ls "$T/build/dist" | grep -c oci)" 0 "without the image's files there is no image"
done_testing
