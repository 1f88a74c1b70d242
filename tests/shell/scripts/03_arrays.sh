#!/usr/bin/env bash
set -e
n=8
DATA=(
    data.batch=256        # prompts
    data.files="a b"
    # data.shuffle=False
)
ACTOR=(
    actor.lr=1e-6
    actor.n=${n}

    actor.kl="$((n * 2))"
)
EXTRA=(
)
LAUNCH=(python3 -u)
if [ "${FAST:-1}" != 0 ] && [ "${DEVICE:-gpu}" = gpu ]; then
    LAUNCH=(uv run --frozen python3)
    EXTRA+=(ray.env="uv -v run")
fi
"${LAUNCH[@]}" -m trainer.main "${DATA[@]}" "${ACTOR[@]}" "${EXTRA[@]}" "$@"
