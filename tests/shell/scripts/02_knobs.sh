#!/usr/bin/env bash
set -euo pipefail
MODEL_PATH=${MODEL_PATH:-Org/Model-7B}
NNODES=${NNODES:-1}
NGPUS=${NGPUS:-${GPUS_PER_NODE:-8}}
tp=${TP:-4}
max_prompt=${MAX_PROMPT:-$((1024 * 2))}
max_response=${MAX_RESPONSE:-$(( max_prompt * 2 ))}
max_tokens=$(((max_prompt + max_response) * 2))
name=${NAME:-grpo_${tp}tp_${QUANT:+q_}${NNODES}n}
files="['$MODEL_PATH/a.parquet', '$MODEL_PATH/b.parquet']"

python3 -m trainer.main model.path="$MODEL_PATH" rollout.tp=${tp} data.files="$files" \
  data.max_tokens=$max_tokens trainer.n_gpus=${NGPUS} trainer.name=$name "$@"
