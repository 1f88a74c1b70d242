#!/bin/bash
TP=4; PP=1; MODE=train
[ "$PP" -gt 1 ] && VPP=2 || VPP=null
if [[ "$MODE" == tr* && $TP -ge 2 ]]; then sp=--sequence-parallel; fi
if (( TP * PP > 4 )); then NODES=2; else NODES=1; fi
[[ -z "$MISSING" ]] && OPT=none
test -n "$MODE" && python train.py --tp $TP --vpp $VPP $sp --nodes $NODES --opt "$OPT"
