NLAYERS=${MODEL_ARGS_NUM_LAYERS:-24}
MODEL_ARGS=(
   --num-layers $NLAYERS
   --swiglu
   --rotary-base "${MODEL_ARGS_ROTARY_BASE:-1000000}"
)
