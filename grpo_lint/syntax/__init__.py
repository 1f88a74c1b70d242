"""From text to located values and words. Nothing in here knows a framework."""
