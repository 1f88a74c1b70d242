#!/usr/bin/env bash
# one launch, continued over lines, with comments before and after
set -xeuo pipefail

python3 -m trainer.main \
    algorithm.adv_estimator=grpo \
    data.train_files=/data/gsm8k/train.parquet \
    data.train_batch_size=1024 \
    actor.optim.lr=1e-6 \
    trainer.logger='["console","wandb"]' \
    trainer.name="a name with blanks" \
    +reward.kwargs.scale=0.5 \
    ++actor.extra=null $@
