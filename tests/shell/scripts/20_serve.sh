#!/bin/bash
PORT=${PORT:-30000}
vllm serve Org/Model \
  --port "$PORT" \
  --tensor-parallel-size 8 \
  --speculative-config '{"method": "mtp", "num_speculative_tokens": 1}' \
  --limit-mm-per-prompt "{\"image\": 4}" \
  --allowed-origins '["*"]'
python -m sglang.launch_server --model-path Org/Model --host 0.0.0.0 --port $(($PORT + 1)) --trust-remote-code
