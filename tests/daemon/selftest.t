#!/bin/sh
# The adversarial suite through peakd selftest: every HLSL specimen gets its right verdict, CUDA specimens compile, and a wrong
# suite is reported. The suite takes minutes of two processors, so an eighth of the cheats is here, and the rest in files that are
# this one under another name: selftest-2.t to selftest-8.t, and for the honest specimens selftest-honest.t to selftest-honest-8.t.
. "$(dirname "$0")/lib.sh"
half=.bad kind=refused part=1
case $(basename "$0" .t) in *honest*) half=.good kind=passed ;; esac
case $(basename "$0" .t) in *-[2-8]) part=${0%.t} part=${part##*-} ;; esac

# The seed is the same every time, so that a verdict is the code's and not chance's; whoever changes the judge runs `peakd selftest`
# several times, with fresh seeds.
"$peakd" selftest --seed 1 --only $half.peak.md --part $part/8 >"$T/out" 2>"$T/err"
status=$?
sed -n 's/^WRONG/# WRONG/p' "$T/out"
if grep -q '^hlsl:' "$T/out"; then
	is "$status" 0 "every verdict is the one that the suite expects"
	[ "$(grep -c "^$kind" "$T/out")" -ge 20 ]
	ok $? "at least twenty specimens are $kind"
	is "$(grep -c -e '^refused' -e '^passed' "$T/out")" "$(grep -c "^$kind" "$T/out")" "every specimen is $kind"
	[ "$(ls "$T/cache/peakd/binaries" | wc -l)" -ge 20 ]
	ok $? "compiled kernels are kept: a baseline has a hundred references"
else
	skip 4 "no HLSL device"
fi
tail -1 "$T/out" | grep -q '^[0-9]* refused, [0-9]* honest passed, [0-9]* skipped$'
ok $? "selftest ends with its counts" "$(tail -1 "$T/out")"
# These numbers once refused an honest kernel: two formulas' errors differ where elements are ill-conditioned.
if [ $half$part = .good1 ]; then
	"$peakd" selftest --seed 12 --only 80-right-looking.good >"$T/out" 2>"$T/err"
	is $? 0 "an honest factorisation may be eight times as wrong as the baseline on values far apart" "$(cat "$T/out")"
fi
if [ $half$part = .good2 ]; then
	"$peakd" selftest --seed 14 --only 80-open-intervals.good >"$T/out" 2>"$T/err"
	is $? 0 "integers are not judged by what NaN decides, in whatever number" "$(cat "$T/out")"
fi
if [ $half$part != .bad1 ]; then
	is "$(ls "$root"/tests/adversary/*.peak.md | grep -c -v -e '\.bad\.' -e '\.good\.' -e '\.root\.')" 0 \
		"the cheats and the honest specimens are the whole suite"
	done_testing
	exit 0
fi

# A suite with wrong labels: its honest specimen cheats, and its cheat is honest.
mkdir "$T/suite"
cp "$root/tests/adversary/gemm-hlsl.root.peak.md" "$T/suite"
cp "$root/tests/adversary/25-zeros.bad.peak.md" "$T/suite/x.good.peak.md"
cp "$root/tests/adversary/25-zeros.good.peak.md" "$T/suite/y.bad.peak.md"
"$peakd" selftest --suite "$T/suite" >"$T/out" 2>"$T/err"
status=$?
if grep -q '^hlsl:' "$T/out"; then
	is "$status" 1 "wrong verdicts give exit status 1"
	is "$(grep -c '^WRONG' "$T/out")" 2 "both wrong verdicts are reported"
else
	skip 2 "no HLSL device"
fi
"$peakd" selftest --without nonsense >"$T/out" 2>"$T/err"
is $? 1 "leaving out a check that does not exist gives exit status 1"
has "$(cat "$T/err")" "on exact integers" "the message lists the checks"
"$peakd" selftest --suite "$T/nowhere" >"$T/out" 2>"$T/err"
is $? 1 "a missing suite gives exit status 1"
has "$(cat "$T/err")" "cannot be read" "selftest says that a missing suite cannot be read"
done_testing
