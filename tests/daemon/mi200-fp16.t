#!/bin/sh
# See mi200-fp32.t.
. "$(dirname "$0")/mi200-fp32.t"
