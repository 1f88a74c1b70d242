#!/bin/bash
FILES=(/d/a.parquet /d/b.parquet)
joined=$(IFS=,; echo "${FILES[*]}")
printf -v quoted "'%s'," "${FILES[@]}"
python train.py data.files="[${joined}]" data.quoted="[${quoted%,}]"
