#!/bin/bash
set -- --lr 1e-6 "two words"
python a.py "$@" $#
shift
python b.py "$1" "${@:2}"
set -- "$@" --more
python c.py "$@"
