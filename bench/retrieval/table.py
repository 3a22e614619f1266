#!/usr/bin/env python3
"""Makes the tables of docs/retrieval.md from what `retrieval worth` and `retrieval speed` wrote: table.py worth.json speed.json"""

import json
import sys

worth, speed = (json.load(open(path, encoding="utf-8")) for path in sys.argv[1:3])
print(f"| asked by | tasks that have such a kernel | found among the first {worth['first']} |\n|---|--:|--:|")
for way in worth["ways"]:
    print(f"| {way['way']} | {way['possible']} | {way['found']} |")
print("\n| documents | queries | median | 95 % of them below | slowest | opening it |\n|--:|--:|--:|--:|--:|--:|")
print(f"| {speed['documents']} | {speed['queries']} | {speed['median_ms']:.1f} ms | {speed['p95_ms']:.1f} ms "
      f"| {speed['max_ms']:.1f} ms | {speed['open_ms']:.0f} ms |")
