#!/bin/bash
tag="it's"
python q.py --a "x \"y\" \$z" --b 'a'"b"'c' --c $'tab\there' --d a\ b --e "multi \
line" --f '#no comment' --g a#b "$tag" # the end
