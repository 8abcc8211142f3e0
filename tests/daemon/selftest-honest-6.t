#!/bin/sh
# See selftest.t.
. "$(dirname "$0")/selftest.t"
