#!/bin/sh
# Who may come in: Host, Origin, token, TLS and RFC 9728's metadata, on the real daemon.
. "$(dirname "$0")/lib.sh"

status() # status CURL-ARGUMENTS…: the HTTP status of one initialize
{
	curl -s -o "$T/body" -D "$T/head" -w '%{http_code}' --max-time 60 -H 'Content-Type: application/json' \
		-H 'Accept: application/json, text/event-stream' -d "$HELLO" "$@"
}

serve() # serve NAME ARGUMENTS…: a daemon of its own; sets url and daemon
{
	name=$1
	shift
	"$peakd" serve --db "$T/$name.db" "$@" 2>"$T/$name.log" &
	daemon=$!
	wait_for 60 grep -q serving "$T/$name.log"
	url=$(sed -n 's,.*\(https*://[][0-9.:]*\)/mcp.*,\1,p' "$T/$name.log")
}

serve open --listen 127.0.0.1:0
is "$(status "$url/mcp")" 200 "on loopback nobody needs a token"
is "$(status -H 'Host: evil.example' "$url/mcp")" 421 "a foreign Host is refused"
is "$(status -H 'Origin: http://evil.example' "$url/mcp")" 403 "a foreign Origin is refused"
is "$(status -H 'Origin: null' "$url/mcp")" 403 "so is a page without one to name"
is "$(status -H "Origin: http://localhost:1234" "$url/mcp")" 200 "a page of this machine is not"
is "$(status -H "Origin: http://localhost.evil.example" "$url/mcp")" 403 "a name that begins like it is"
is "$(curl -s -o /dev/null -w '%{http_code}' --max-time 60 "$url/.well-known/oauth-protected-resource")" 404 \
	"without a token there is nothing to describe"
kill "$daemon"
wait "$daemon"

# A token, on loopback.
echo 'correct horse' >"$T/token"
serve token --listen 127.0.0.1:0 --token-file "$T/token" --allow-host peakd.example --allow-origin https://ide.example
is "$(status "$url/mcp")" 401 "with a token nobody comes in without it"
challenge=$(tr -d '\r' <"$T/head" | sed -n 's/^WWW-Authenticate: //Ip')
is "$challenge" "Bearer realm=\"mcp\", resource_metadata=\"$url/.well-known/oauth-protected-resource/mcp\"" \
	"and hears where the metadata are"
is "$(status -H 'Authorization: Bearer wrong' "$url/mcp")" 401 "nor with another"
has "$(cat "$T/head")" 'error="invalid_token"' "which it is told"
is "$(status -H 'Authorization: Bearer correct horse' "$url/mcp")" 200 "but with it"
meta=$(curl -s --max-time 60 "$url/.well-known/oauth-protected-resource/mcp")
is "$(echo "$meta" | jq -r .resource)" "$url/mcp" "the metadata name the endpoint as the client does (RFC 9728 3.3)"
is "$(echo "$meta" | jq -c .bearer_methods_supported)" '["header"]' "and where the token goes"
is "$(curl -s --max-time 60 "$url/.well-known/oauth-protected-resource" | jq -r .resource)" "$url/mcp" "at the root too"
is "$(curl -s -o /dev/null -w '%{http_code}' --max-time 60 -H 'Host: evil.example' "$url/.well-known/oauth-protected-resource")" 421 \
	"not for a foreign Host"
is "$(status -H 'Host: peakd.example' -H 'Authorization: Bearer correct horse' "$url/mcp")" 200 "--allow-host lets a name in"
is "$(status -H 'Origin: https://ide.example' -H 'Authorization: Bearer correct horse' "$url/mcp")" 200 \
	"--allow-origin lets pages in"
is "$(curl -s --max-time 60 "$url/healthz")" ok "/healthz is open"
is "$(curl -s -o /dev/null -w '%{http_code}' --max-time 60 "$url/metrics")" 401 "/metrics is not"
kill "$daemon"
wait "$daemon"

# The same from systemd's credentials, which are files in a folder.
mkdir -m 700 "$T/credentials"
echo 'battery staple' >"$T/credentials/token"
CREDENTIALS_DIRECTORY="$T/credentials" serve credential --listen 127.0.0.1:0
is "$(status "$url/mcp")" 401 "a token from a systemd credential: nobody comes in without it"
is "$(status -H 'Authorization: Bearer battery staple' "$url/mcp")" 200 "and who has it does"
kill "$daemon"
wait "$daemon"
CREDENTIALS_DIRECTORY="$T/credentials" serve both --listen 127.0.0.1:0 --token-file "$T/token"
is "$(status -H 'Authorization: Bearer correct horse' "$url/mcp")" 200 "--token-file goes before it"
kill "$daemon"
wait "$daemon"
: >"$T/credentials/token"
CREDENTIALS_DIRECTORY="$T/credentials" timeout 120 "$peakd" serve --listen 127.0.0.1:0 --db "$T/empty.db" 2>"$T/no"
is $? 2 "an empty credential is no token, and no open door"
has "$(cat "$T/no")" "empty" "and says so"

cat >"$T/crowd.py" <<'PY'
# As many streams as the daemon has room for, each busy; then what those hear that come afterwards, one after the other.
import json, resource, socket, ssl, sys
port, room = int(sys.argv[1]), int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
context = ssl.create_default_context()
context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": {
    "notifications": {"toolsListChanged": True},
    "_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}}})
request = (f"POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer correct horse\r\nContent-Type: application/json\r\n"
           f"Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: subscriptions/listen\r\n"
           f"Content-Length: {len(body)}\r\n\r\n{body}").encode()

def ask():
    s = context.wrap_socket(socket.create_connection(("127.0.0.1", port), timeout=60))
    s.sendall(request)
    return s, s.recv(65536).decode()

streams = [ask() for _ in range(room)]
assert all("text/event-stream" in head for _, head in streams), streams[-1]
refused = 0
for _ in range(40):
    s, head = ask()
    refused += head.startswith("HTTP/1.1 503 ") and "\r\nRetry-After: 1\r\n" in head and "\r\nConnection: close\r\n" in head
    s.close()
print(len(streams), "streams, then 503 and Retry-After 1,", refused, "times")
PY

# Beyond loopback: token and TLS, or nothing.
timeout 120 "$peakd" serve --listen 0.0.0.0:0 --db "$T/no.db" 2>"$T/no"
is $? 1 "beyond loopback a daemon without a token does not start"
has "$(cat "$T/no")" "token" "and says so"
timeout 120 "$peakd" serve --listen 0.0.0.0:0 --token-file "$T/token" --db "$T/no.db" 2>"$T/no"
is $? 1 "nor without TLS"
has "$(cat "$T/no")" "TLS" "and says so"
if command -v openssl >/dev/null; then
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 1 -subj /CN=localhost \
		-addext 'subjectAltName=DNS:localhost,IP:127.0.0.1' -keyout "$T/key.pem" -out "$T/cert.pem" 2>"$T/openssl" ||
		cat "$T/openssl"
	ulimit -n 120 # half of them for connections
	serve tls --listen 0.0.0.0:0 --token-file "$T/token" --tls-cert "$T/cert.pem" --tls-key "$T/key.pem"
	url=https://127.0.0.1:${url##*:}
	is "$(status --cacert "$T/cert.pem" "$url/mcp")" 401 "over TLS nobody comes in without the token"
	has "$(cat "$T/head")" "resource_metadata=\"$url/" "and the metadata are behind https"
	is "$(status --cacert "$T/cert.pem" -H 'Authorization: Bearer correct horse' "$url/mcp")" 200 "but with it"
	has "$(cat "$T/body")" serverInfo "and is answered"
	is "$(status "$url/mcp")" 000 "a client that does not know the certificate goes away"
	port=${url##*:}
	is "$(timeout 120 python3 "$T/crowd.py" "$port" 60)" "60 streams, then 503 and Retry-After 1, 40 times" \
		"a connection beyond the limit hears so over TLS too"
	is "$(status "http://127.0.0.1:${url##*:}/mcp")" 000 "and plain HTTP is not spoken there"
	kill "$daemon"
	wait "$daemon"
	is $? 0 "it ends well"
else
	skip 8 "openssl is not installed"
fi
is "$(cat "$T"/*.log | grep -c ' error: ')" 0 "no daemon complained"
done_testing
