#!/bin/bash
TP=2
options=" \
    --tensor-model-parallel-size ${TP} \
    --bf16"
extra='--name "two words"'
run_cmd="torchrun --nproc_per_node 8 train.py
 ${options} ${extra} --log-interval 1"
echo ${run_cmd}
eval ${run_cmd}
set +x
