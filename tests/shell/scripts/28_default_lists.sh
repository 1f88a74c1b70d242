#!/bin/bash
layers=${LAYERS:-['q_proj','v_proj']}
opts=${OPTS:-"--a 1 --b 2"}
python train.py lora.targets=$layers $opts ${MORE:---c 3}
