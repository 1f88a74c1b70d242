#!/bin/bash
STAGE=2
cat > ds_config.json <<EOF
{
  "zero_optimization": {"stage": ${STAGE}},
  "bf16": {"enabled": true}
}
EOF
cat <<'EOF' > note.txt
nothing $is expanded `here`
EOF
deepspeed --num_gpus 8 train.py --deepspeed ds_config.json
