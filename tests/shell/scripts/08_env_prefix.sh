# many variables before one command
nproc_per_node=4
CUDA_VISIBLE_DEVICES=0,1,2,3 \
NPROC_PER_NODE=$nproc_per_node \
MAX_PIXELS=1003520 \
swift rlhf \
    --rlhf_type grpo \
    --model Org/Model \
    --gradient_accumulation_steps $(expr 32 / $nproc_per_node) \
    --system 'You are a "helpful" assistant.' \
    --deepspeed zero2
