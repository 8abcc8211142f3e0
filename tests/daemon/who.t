#!/bin/sh
# Access to the daemon: Host and Origin headers, tokens, TLS, and the metadata of RFC 9728.
. "$(dirname "$0")/lib.sh"

status() # status CURL-ARGUMENTS…: prints the HTTP status of one initialize
{
	curl -s -o "$T/body" -D "$T/head" -w '%{http_code}' --max-time 60 -H 'Content-Type: application/json' \
		-H 'Accept: application/json, text/event-stream' -d "$HELLO" "$@"
}

serve() # serve NAME ARGUMENTS…: starts a daemon; sets url and daemon
{
	name=$1
	shift
	"$peakd" serve --db "$T/$name.db" "$@" 2>"$T/$name.log" &
	daemon=$!
	wait_for 60 grep -q serving "$T/$name.log"
	url=$(sed -n 's,.*\(https*://[][0-9.:]*\)/mcp.*,\1,p' "$T/$name.log")
}

serve open --listen 127.0.0.1:0
is "$(status "$url/mcp")" 200 "on loopback no token is needed"
is "$(status -H 'Host: evil.example' "$url/mcp")" 421 "a foreign Host is refused"
is "$(status -H 'Origin: http://evil.example' "$url/mcp")" 403 "a foreign Origin is refused"
is "$(status -H 'Origin: null' "$url/mcp")" 403 "the Origin null is refused"
is "$(status -H "Origin: http://localhost:1234" "$url/mcp")" 200 "a page of this machine is accepted"
is "$(status -H "Origin: http://localhost.evil.example" "$url/mcp")" 403 "an Origin that only begins with localhost is refused"
is "$(curl -s -o /dev/null -w '%{http_code}' --max-time 60 "$url/.well-known/oauth-protected-resource")" 404 \
	"without a token there are no protected-resource metadata"
kill "$daemon"
wait "$daemon"

# With a token, on loopback.
echo 'correct horse' >"$T/token"
serve token --listen 127.0.0.1:0 --token-file "$T/token" --allow-host peakd.example --allow-origin https://ide.example
is "$(status "$url/mcp")" 401 "with a token configured, a request without one is refused"
challenge=$(tr -d '\r' <"$T/head" | sed -n 's/^WWW-Authenticate: //Ip')
is "$challenge" "Bearer realm=\"mcp\", resource_metadata=\"$url/.well-known/oauth-protected-resource/mcp\"" \
	"the challenge names the address of the metadata"
is "$(status -H 'Authorization: Bearer wrong' "$url/mcp")" 401 "a wrong token is refused"
has "$(cat "$T/head")" 'error="invalid_token"' "the challenge says that the token is invalid"
is "$(status -H 'Authorization: Bearer correct horse' "$url/mcp")" 200 "the right token is accepted"
meta=$(curl -s --max-time 60 "$url/.well-known/oauth-protected-resource/mcp")
is "$(echo "$meta" | jq -r .resource)" "$url/mcp" "the metadata name the endpoint by the client's address (RFC 9728 3.3)"
is "$(echo "$meta" | jq -c .bearer_methods_supported)" '["header"]' "the metadata say that the token goes into a header"
is "$(curl -s --max-time 60 "$url/.well-known/oauth-protected-resource" | jq -r .resource)" "$url/mcp" \
	"the metadata are served at the root as well"
is "$(curl -s -o /dev/null -w '%{http_code}' --max-time 60 -H 'Host: evil.example' "$url/.well-known/oauth-protected-resource")" \
	421 \
	"the metadata are refused to a foreign Host"
is "$(status -H 'Host: peakd.example' -H 'Authorization: Bearer correct horse' "$url/mcp")" 200 "--allow-host accepts another Host"
is "$(status -H 'Origin: https://ide.example' -H 'Authorization: Bearer correct horse' "$url/mcp")" 200 \
	"--allow-origin accepts pages of another Origin"
is "$(curl -s --max-time 60 "$url/healthz" | head -1)" ok "/healthz needs no token"
is "$(curl -s -o /dev/null -w '%{http_code}' --max-time 60 "$url/metrics")" 401 "/metrics needs the token"
kill "$daemon"
wait "$daemon"

# The token from a systemd credential, which is a file in a folder.
mkdir -m 700 "$T/credentials"
echo 'battery staple' >"$T/credentials/token"
CREDENTIALS_DIRECTORY="$T/credentials" serve credential --listen 127.0.0.1:0
is "$(status "$url/mcp")" 401 "with a systemd credential, a request without a token is refused"
is "$(status -H 'Authorization: Bearer battery staple' "$url/mcp")" 200 "the token of a systemd credential is accepted"
kill "$daemon"
wait "$daemon"
CREDENTIALS_DIRECTORY="$T/credentials" serve both --listen 127.0.0.1:0 --token-file "$T/token"
is "$(status -H 'Authorization: Bearer correct horse' "$url/mcp")" 200 "--token-file takes precedence over a systemd credential"
kill "$daemon"
wait "$daemon"
: >"$T/credentials/token"
CREDENTIALS_DIRECTORY="$T/credentials" timeout 120 "$peakd" serve --listen 127.0.0.1:0 --db "$T/empty.db" 2>"$T/no"
is $? 2 "a daemon with an empty credential does not start"
has "$(cat "$T/no")" "empty" "the refusal says that the credential is empty"

cat >"$T/crowd.py" <<'PY'
# Fills all places of the daemon with busy streams, then reports the answers to later connections, one after the other.
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

# Beyond loopback a daemon needs a token and TLS.
timeout 120 "$peakd" serve --listen 0.0.0.0:0 --db "$T/no.db" 2>"$T/no"
is $? 1 "beyond loopback a daemon without a token does not start"
has "$(cat "$T/no")" "token" "the refusal beyond loopback names the missing token"
timeout 120 "$peakd" serve --listen 0.0.0.0:0 --token-file "$T/token" --db "$T/no.db" 2>"$T/no"
is $? 1 "beyond loopback a daemon without TLS does not start"
has "$(cat "$T/no")" "TLS" "the refusal beyond loopback names the missing TLS"
if command -v openssl >/dev/null; then
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 1 -subj /CN=localhost \
		-addext 'subjectAltName=DNS:localhost,IP:127.0.0.1' -keyout "$T/key.pem" -out "$T/cert.pem" 2>"$T/openssl" ||
		cat "$T/openssl"
	ulimit -n 120 # half of these descriptors are for connections
	serve tls --listen 0.0.0.0:0 --token-file "$T/token" --tls-cert "$T/cert.pem" --tls-key "$T/key.pem"
	url=https://127.0.0.1:${url##*:}
	is "$(status --cacert "$T/cert.pem" "$url/mcp")" 401 "over TLS a request without the token is refused"
	has "$(cat "$T/head")" "resource_metadata=\"$url/" "over TLS the challenge names metadata at https"
	is "$(status --cacert "$T/cert.pem" -H 'Authorization: Bearer correct horse' "$url/mcp")" 200 \
		"over TLS the right token is accepted"
	has "$(cat "$T/body")" serverInfo "over TLS initialize is answered"
	is "$(status "$url/mcp")" 000 "a client that does not trust the certificate cannot connect"
	port=${url##*:}
	is "$(timeout 120 python3 "$T/crowd.py" "$port" 60)" "60 streams, then 503 and Retry-After 1, 40 times" \
		"over TLS a connection beyond the limit gets 503 with Retry-After"
	is "$(status "http://127.0.0.1:${url##*:}/mcp")" 000 "the TLS port does not answer plain HTTP"
	kill "$daemon"
	wait "$daemon"
	is $? 0 "the daemon with TLS ends with status 0"
else
	skip 8 "openssl is not installed"
fi
is "$(cat "$T"/*.log | grep -c ' error: ')" 0 "no daemon logged an error"
done_testing
