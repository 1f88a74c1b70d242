#!/bin/bash
ROOT=$(dirname "$(dirname "$0")")
BASE=$(basename "$0" .sh)
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
PARENT=$(cd "$HERE/.." && pwd)
python train.py --exp "$BASE" --root "$ROOT/x" --config "$HERE/config.yaml" --parent ${PARENT}
