#!/bin/bash
GPUS=0,1,2,3
IFS=',' read -r -a IDS <<< "$GPUS"
N=${#IDS[@]}
MODELS="small medium"
for m in $MODELS; do
  accelerate launch --num_processes "$N" --main_process_port $((29500 + N)) train.py --model "$m" --first "${IDS[0]}"
done
