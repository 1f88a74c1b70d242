#!/bin/bash
for ((i = 0; i < 3; i++)); do
  CUDA_VISIBLE_DEVICES=$i python worker.py --rank $i --port $((5000 + i)) &
done
wait
for seed in $(seq 1 2); do python eval.py --seed $seed; done
i=0
while [ $i -lt 2 ]; do python poll.py $i; i=$((i + 1)); done
