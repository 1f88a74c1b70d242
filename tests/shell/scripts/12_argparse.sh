#!/bin/bash
MODEL=base
DRY=0
while [[ $# -gt 0 ]]; do
  case "$1" in
    --model) MODEL="$2"; shift 2 ;;
    --dry-run) DRY=1; shift ;;
    *) echo "unknown: $1"; exit 1 ;;
  esac
done
ARGS=(--model "$MODEL")
(( DRY )) && ARGS+=(--dry-run)
python run.py "${ARGS[@]}"
