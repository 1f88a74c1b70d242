#!/bin/bash
MODEL_PATH=/models/Qwen/Qwen3-8B-Base/
MODEL_PATH=${MODEL_PATH%/}
NAME=${MODEL_PATH##*/}
SHORT=${NAME%%-*}
SAFE=${MODEL_PATH//\//_}
LOWER=${NAME,,}
SIZE=$(basename "$MODEL_PATH")
python train.py --name "$NAME" --short $SHORT --safe $SAFE --lower ${LOWER/-base/} --size "${SIZE:0:5}" --len ${#NAME}
