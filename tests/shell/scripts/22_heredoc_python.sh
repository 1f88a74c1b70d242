#!/bin/bash
N=3
python - <<PY
print($N, "\$HOME")
PY
python3 <<'PY'
for i in range(3):
    print(f"{i} $x")
PY
