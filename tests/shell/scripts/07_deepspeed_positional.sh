#!/bin/bash
OUTPUT=$1
ZERO_STAGE=$2
if [ "$OUTPUT" == "" ]; then
    OUTPUT=./output
fi
if [ "$ZERO_STAGE" == "" ]; then
    ZERO_STAGE=3
fi
mkdir -p $OUTPUT
Num_Padding=1
deepspeed --master_port 12346 main.py --data_split 2,4,4 \
   --zero_stage $ZERO_STAGE --pad ${Num_Padding} \
   --output_dir $OUTPUT \
    &> $OUTPUT/training.log
