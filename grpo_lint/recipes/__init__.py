"""What `grpo-lint recommend` writes: settings with their reasons, chosen for a topic and a machine, in each format."""
