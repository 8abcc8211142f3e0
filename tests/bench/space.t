#!/bin/sh
# bench/space: large products of tuning parameters. The counts and messages are tested here; times are kept in
# bench/results/space.json.
. "$(dirname "$0")/../daemon/lib.sh"
bench=${BUILD:-$root/build}/bench/space
timeout 250 "$bench" >"$T/out" 2>"$T/err"
is $? 0 "bench/space runs" "$(cat "$T/err")"
case_of() { jq -c "select(.case == \"$1\") | $2" "$T/out"; }
is "$(case_of product '[.combinations, .valid, .valid == .valid_of_plain_c, .visited < 500000]')" '[5040000,101791,true,true]' \
	"a tenth of five million combinations is visited for the 2 % that plain loops find valid"
is "$(case_of tight '[.combinations, .valid, .visited < 10000]')" '[1073741824,6,true]' \
	"10^9 combinations are counted in a few thousand visits"
has "$(case_of refused .says)" "more than 8000000 valid points" "a space with too many valid points is refused"
has "$(case_of refused .says)" "is too hard" "a space that is too hard to search is refused"
is "$(case_of refused '.says | select(contains("no valid") | not) | contains("fix some parameters")' | uniq -c | tr -s ' ')" \
	' 2 true' "both refusals say what to do"
is "$(case_of refused '.says | select(contains("no valid")) | [contains("X*Y*Z > 4096^4"), contains("<= 2048"), contains("== 7919*7919")] | any' | uniq -c | tr -s ' ')" ' 3 true' \
	"three spaces without a valid point name the constraint that nothing meets"
is "$(case_of uniform '(.sample_deviations | fabs) < 6')" true "every valid point is drawn equally often"
done_testing
