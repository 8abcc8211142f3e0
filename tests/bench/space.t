#!/bin/sh
# bench/space: large products of tuning parameters. Counts and messages are held here, times are kept in bench/results/space.json.
. "$(dirname "$0")/../daemon/lib.sh"
bench=${BUILD:-$root/build}/bench/space
timeout 250 "$bench" >"$T/out" 2>"$T/err"
is $? 0 "runs" "$(cat "$T/err")"
case_of() { jq -c "select(.case == \"$1\") | $2" "$T/out"; }
is "$(case_of product '[.combinations, .valid, .valid == .valid_of_plain_c, .visited < 500000]')" '[5040000,101791,true,true]' \
	"five million combinations, 2 % of them valid, as plain loops count them: a tenth is visited"
is "$(case_of tight '[.combinations, .valid, .visited < 10000]')" '[1073741824,6,true]' "10^9 combinations in a few thousand visits"
has "$(case_of refused .says)" "more than 8000000 valid points" "too many valid points are refused"
has "$(case_of refused .says)" "is too hard" "a search without end is refused"
is "$(case_of refused '.says | select(contains("no valid") | not) | contains("fix some parameters")' | uniq -c | tr -s ' ')" ' 2 true' "both messages say what to do"
is "$(case_of refused '.says | select(contains("no valid")) | [contains("X*Y*Z > 4096^4"), contains("<= 2048"), contains("== 7919*7919")] | any' | uniq -c | tr -s ' ')" ' 3 true' \
	"three whose constraint nothing can fulfil are told which"
is "$(case_of uniform '(.random_deviations | fabs) < 6 and .sample_deviations < 6')" true "every valid point is drawn equally often"
done_testing
