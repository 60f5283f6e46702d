"""Run a soak test: `python -m tests.soak --minutes 120 --persons 3 --seed 7`."""

import sys

from tests.soak.walk import main

sys.exit(main())
