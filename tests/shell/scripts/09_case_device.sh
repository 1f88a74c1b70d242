#!/usr/bin/env bash
DEVICE=${DEVICE:-gpu}
case "${DEVICE}" in
  gpu|cuda) ATTN=flash; EXTRA="--bf16" ;;
  npu)      ATTN=eager; EXTRA="" ;;
  *) echo "unknown device ${DEVICE}" >&2; exit 1 ;;
esac
python train.py --attn $ATTN $EXTRA
