#!/bin/bash
export CUDA_DEVICE_MAX_CONNECTIONS=1
GPUS_PER_NODE=8
MASTER_ADDR=${MASTER_ADDR:-"localhost"}
NNODES=${SLURM_NNODES:-"1"}
WORLD_SIZE=$((GPUS_PER_NODE*NNODES))
DISTRIBUTED_ARGS=(
    --nproc_per_node $GPUS_PER_NODE
    --nnodes $NNODES
    --master_addr $MASTER_ADDR
)
MODEL_ARGS="
    --num-layers 32 \
    --hidden-size 4096
    --norm-epsilon 1e-5
"
MOE_ARGS="--num-experts 8 --moe-router-topk 2"
MODEL_ARGS="$MODEL_ARGS $MOE_ARGS"
if [ -n "${WANDB_API_KEY}" ]; then
    MODEL_ARGS+=" --wandb-project x"
fi
torchrun ${DISTRIBUTED_ARGS[@]} pretrain.py $MODEL_ARGS --world $WORLD_SIZE
