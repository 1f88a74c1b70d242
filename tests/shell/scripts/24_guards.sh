#!/bin/bash
set -eu
if ! command -v nothing-like-this >/dev/null 2>&1; then
  echo "not installed"
fi
mkdir -p out || { echo "no folder" >&2; exit 1; }
cd out || exit 1
python -c "import torch" && python train.py --ok
