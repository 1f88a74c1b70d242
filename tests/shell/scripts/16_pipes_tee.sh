#!/bin/bash
set -o pipefail
LOG=run.log
export VLLM_ATTENTION_BACKEND=XFORMERS
python3 -m main \
  a=1 \
  b="x" 2>&1 | tee -a $LOG
nohup python serve.py --port 8000 > serve.log 2>&1 &
