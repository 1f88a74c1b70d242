#!/bin/bash
#SBATCH --nodes=4
#SBATCH --gpus-per-node=8
set -x
NODES=4
head_node=$(hostname)
srun --nodes=$NODES --ntasks=$NODES bash -c "torchrun --nnodes $NODES train.py --head $head_node"
srun --overlap ray start --address "$head_node:6379" --block &
wait
