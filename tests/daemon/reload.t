#!/bin/sh
# SIGHUP does not end the daemon. It reads the token and the certificate again, keeps its jobs, and keeps the old ones where the new
# ones are no good.
. "$(dirname "$0")/lib.sh"
db=$T/a.db
certificate() # certificate NAME
{
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 1 -subj "/CN=$1" \
		-addext 'subjectAltName=IP:127.0.0.1' -keyout "$T/key.pem" -out "$T/cert.pem" 2>"$T/openssl"
}
status() # status TOKEN: of an initialize request
{
	curl -s -o "$T/body" -w '%{http_code}' --max-time 60 --cacert "$T/cert.pem" -H "Authorization: Bearer $1" -d "$HELLO" \
		-H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream' "$url/mcp"
}
reload() # reload TEXT: sends SIGHUP and waits until the log says TEXT once more
{
	before=$(grep -c "$1" "$T/log")
	kill -HUP "$daemon"
	wait_for 60 sh -c "[ \$(grep -c '$1' '$T/log') -gt $before ]"
}
command -v openssl >/dev/null || skip_rest 14 "openssl is not installed"
certificate one
echo first >"$T/token"
echo 'model = one=openai:http://127.0.0.1:1/v1?model=a' >"$T/conf"
"$peakd" serve --config "$T/conf" --listen 127.0.0.1:0 --token-file "$T/token" --tls-cert "$T/cert.pem" --tls-key "$T/key.pem" \
	--db "$db" 2>"$T/log" &
daemon=$!
wait_for 60 grep -q 'serving' "$T/log"
url=$(sed -n 's,.*\(https://127.0.0.1:[0-9]*\)/mcp.*,\1,p' "$T/log")
is "$(status first)" 200 "the token is accepted"
reload "are as before"
is $? 0 "SIGHUP without new files leaves the daemon as it is" "$(cat "$T/log")"
certificate two
echo second >"$T/token"
reload "new token or certificate"
is $? 0 "SIGHUP reads a new token and certificate" "$(cat "$T/log")"
is "$(status second)" 200 "the new token is accepted with the new certificate"
is "$(status first)" 401 "the old token is refused"
cp "$T/cert.pem" "$T/good.pem"
echo rubbish >"$T/cert.pem"
reload "reload: "
is $? 0 "SIGHUP with a bad certificate is logged" "$(cat "$T/log")"
cp "$T/good.pem" "$T/cert.pem"
is "$(status second)" 200 "a bad certificate leaves the old one in use" "$(cat "$T/log")"
rm "$T/token"
reload "token-file"
is "$(status second)" 200 "a missing token leaves the old one in use"
timeout 60 "$peakd" jobs --db "$db" >"$T/out" 2>&1
is $? 0 "clients of the socket are served after the reloads"
echo second >"$T/token"
models() # the names that the daemon knows
{
	timeout 60 "$peakd" transform nothing nothing --model none --db "$db" 2>&1 | sed -n 's/.*configured: \([^.]*\)\..*/\1/p'
}
small_context >"$T/scale.peak.md"
timeout 60 "$peakd" workflow create "$T/scale.peak.md" nothing --db "$db" >"$T/out" 2>&1
is "$(models)" "one" "the configuration file's model is known" "$(cat "$T/out")"
echo 'model = two=openai:http://127.0.0.1:1/v1?model=a' >>"$T/conf"
reload "are as before"
is "$(models)" "one, two" "SIGHUP reads new models"
echo 'model = three=nonsense' >>"$T/conf"
reload "reload: "
is "$(models)" "one, two" "a mistake in a model changes nothing"
has "$(tail -2 "$T/log")" "'nonsense' is not a model" "a mistake in a model is logged"
kill "$daemon"
wait "$daemon"
is $? 0 "the daemon still ends on SIGTERM"
done_testing
