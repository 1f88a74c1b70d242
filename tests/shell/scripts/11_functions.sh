#!/bin/bash
COMMON=(--epochs 1)
launch() {
  local name="$1"; shift
  local -a opts=("$@" --tag "${name}-${SUFFIX:-base}")
  torchrun --nproc_per_node=8 train.py "${COMMON[@]}" "${opts[@]}"
}
launch first --lr 1e-6
SUFFIX=v2
launch second --note "two words"
