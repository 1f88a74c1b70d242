#!/bin/bash
for lr in 1e-6 5e-7; do
  for n in {4,8}; do
    exp="lr${lr}_n${n}"
    python train.py --lr "$lr" --n $n --name "$exp" > "log_${exp}.txt" 2>&1
  done
done
