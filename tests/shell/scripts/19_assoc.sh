#!/bin/bash
declare -A LAYERS=([small]=12 [large]=48)
declare -A HIDDEN
HIDDEN[small]=768
HIDDEN[large]=4096
for size in small large; do
  torchrun train.py --num-layers "${LAYERS[$size]}" --hidden-size ${HIDDEN[$size]}
done
