"""The page's style sheet: one column, light and dark, phone and paper."""

LIGHT = """
  color-scheme: light;
  --page: #ffffff; --card: #f6f7f9; --text: #1b1f24; --muted: #57606a; --rule: #d5dbe1;
  --candidate: #0b5cd6; --baseline: #a8480b; --validation: #0a7568;
  --good: #1a7431; --bad: #b42318; --warn: #8a5a00;
  --good-soft: #e3f3e6; --bad-soft: #fbe9e7; --warn-soft: #fbf1d9; --bar: #c3d6f2;
"""
DARK = """
  color-scheme: dark;
  --page: #0f1318; --card: #171c23; --text: #e6eaf0; --muted: #9aa5b1; --rule: #303844;
  --candidate: #74aeff; --baseline: #f2a35e; --validation: #4cc9b8;
  --good: #63c97c; --bad: #ff8a7d; --warn: #e5b454;
  --good-soft: #16301d; --bad-soft: #3a1b19; --warn-soft: #332913; --bar: #29466f;
"""

STYLE = f"""
:root {{{LIGHT}}}
@media (prefers-color-scheme: dark) {{ :root {{{DARK}}} }}
* {{ box-sizing: border-box; }}
html {{ -webkit-text-size-adjust: 100%; }}
body {{
  margin: 0; background: var(--page); color: var(--text);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
}}
main, header.top {{ max-width: 70rem; margin: 0 auto; padding: 0 1.25rem; }}
header.top {{ padding-top: 1.5rem; }}
h1 {{ font-size: 1.7rem; line-height: 1.2; margin: .25rem 0 .5rem; text-wrap: balance; }}
h2 {{ font-size: 1.2rem; margin: 0 0 .75rem; }}
h3 {{ font-size: 1rem; margin: 1.5rem 0 .5rem; }}
section {{ padding: 1.5rem 0; border-top: 1px solid var(--rule); }}
p {{ margin: .4rem 0; max-width: 46rem; }}
a {{ color: var(--candidate); }}
.muted, .about {{ color: var(--muted); }}
.about {{ font-size: .9rem; }}
.number, td.number, th.number {{ font-variant-numeric: tabular-nums; }}
code, .code {{ font: .85em/1.45 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }}
.error {{ white-space: pre-wrap; }}
.code, td, dd {{ overflow-wrap: anywhere; }}

.verdict {{ border-left: 6px solid var(--muted); background: var(--card); padding: 1rem 1.25rem;
  border-radius: 4px; margin: .75rem 0 1.25rem; }}
.verdict.good {{ border-color: var(--good); background: var(--good-soft); }}
.verdict.bad {{ border-color: var(--bad); background: var(--bad-soft); }}
.verdict.warn {{ border-color: var(--warn); background: var(--warn-soft); }}
.verdict p.reason {{ font-size: 1.05rem; }}
nav ul {{ display: flex; flex-wrap: wrap; gap: .25rem 1.1rem; list-style: none; padding: 0;
  margin: 0 0 1.25rem; font-size: .9rem; }}

.tiles {{ display: grid; grid-template-columns: repeat(auto-fit, minmax(9.5rem, 1fr));
  gap: .75rem; margin: .5rem 0 1rem; }}
.tile {{ background: var(--card); border: 1px solid var(--rule); border-radius: 6px;
  padding: .7rem .9rem; }}
.tile .name {{ color: var(--muted); font-size: .85rem; }}
.tile .value {{ font-size: 1.6rem; line-height: 1.25; font-variant-numeric: tabular-nums; }}
.tile .detail {{ font-size: .82rem; color: var(--muted); font-variant-numeric: tabular-nums; }}
.up {{ color: var(--good); }} .down {{ color: var(--bad); }}

.plots {{ display: grid; grid-template-columns: repeat(auto-fit, minmax(min(19rem, 100%), 1fr));
  gap: 1rem 1.5rem; align-items: start; }}
figure {{ margin: 0 0 .5rem; max-width: 28rem; break-inside: avoid; }}
figure svg {{ display: block; width: 100%; height: auto; }}
figcaption {{ font-size: .9rem; font-weight: 600; display: flex; flex-wrap: wrap;
  justify-content: space-between; gap: 0 1rem; margin-bottom: .25rem; }}
.legend {{ font-weight: 400; color: var(--muted); display: inline-flex; flex-wrap: wrap;
  gap: 0 .9rem; }}
.key {{ display: inline-flex; align-items: center; gap: .35rem; }}
figure .key svg {{ width: 22px; height: 12px; flex: none; }}
svg text {{ fill: var(--text); font: 11px system-ui, -apple-system, "Segoe UI", Roboto, Arial,
  sans-serif; }}
svg .tick, svg .label {{ fill: var(--muted); }}
svg .tick {{ font-size: 10.5px; font-variant-numeric: tabular-nums; }}
svg .middle {{ text-anchor: middle; }} svg .end {{ text-anchor: end; }}
svg .grid {{ stroke: var(--rule); stroke-width: .7; }}
svg .axis {{ stroke: var(--muted); stroke-width: 1; }}
svg .reference {{ stroke: var(--muted); stroke-width: 1; stroke-dasharray: 3 3; }}
svg .line {{ fill: none; stroke-width: 1.8; stroke-linejoin: round; stroke: var(--muted); }}
svg .interval {{ stroke-width: 2.5; stroke-linecap: round; opacity: .55; }}
svg .mark {{ stroke-width: 1.5; }}
svg .bar {{ fill: var(--bar); stroke: var(--candidate); stroke-width: .6; }}
svg .line.candidate, svg .interval.candidate, svg .mark.candidate {{ stroke: var(--candidate); }}
svg .line.baseline, svg .interval.baseline, svg .mark.baseline {{ stroke: var(--baseline); }}
svg .line.validation, svg .mark.validation {{ stroke: var(--validation); }}
svg .line.baseline {{ stroke-dasharray: 6 3; }}
svg .mark.candidate {{ fill: var(--candidate); }}
svg .mark.validation {{ fill: var(--validation); }}
svg .mark.baseline {{ fill: var(--page); }}
svg .mark.plain {{ fill: var(--muted); stroke: var(--muted); }}

table {{ border-collapse: collapse; width: 100%; font-size: .9rem; margin: .5rem 0 1rem; }}
caption {{ text-align: left; font-weight: 600; padding: .25rem 0; }}
th, td {{ text-align: left; vertical-align: top; padding: .35rem .75rem .35rem 0;
  border-bottom: 1px solid var(--rule); }}
th {{ font-weight: 600; color: var(--muted); }}
tbody th {{ color: var(--text); font-weight: 400; overflow-wrap: anywhere; }}
td:not(.number), tbody th {{ min-width: 5.5rem; }}
td.number, th.number {{ text-align: right; white-space: nowrap; }}
td.number + td:not(.number), th.number + th:not(.number) {{ padding-left: .75rem; }}
table.bars th:first-child {{ width: 45%; }}
td.number .muted {{ white-space: normal; font-size: .9em; }}
td.number:last-child, th.number:last-child {{ padding-right: 0; }}
tr {{ break-inside: avoid; }}
th button {{ font: inherit; color: inherit; background: none; border: 0; padding: 0;
  cursor: pointer; text-align: inherit; }}
th button::after {{ content: " ⇅"; opacity: .5; }}
th[aria-sort=descending] button::after {{ content: " ↓"; opacity: 1; }}
th[aria-sort=ascending] button::after {{ content: " ↑"; opacity: 1; }}
input[type=search] {{ font: inherit; color: var(--text); background: var(--page);
  border: 1px solid var(--rule); border-radius: 4px; padding: .3rem .6rem; max-width: 100%; }}
::placeholder {{ color: var(--muted); opacity: 1; }}
.meter {{ display: block; height: .5rem; background: var(--card); border: 1px solid var(--rule);
  border-radius: 3px; margin: .45rem 0 0; min-width: 3rem; position: relative; }}
.meter i {{ display: block; height: 100%; background: var(--candidate); border-radius: 2px; }}
.meter b {{ position: absolute; top: -3px; bottom: -3px; width: 2px; background: var(--baseline); }}
.pass, .fail, .skip {{ font-weight: 600; white-space: nowrap; }}
.pass {{ color: var(--good); }} .fail {{ color: var(--bad); }} .skip {{ color: var(--muted); }}
.two {{ display: grid; gap: 0 2rem;
  grid-template-columns: repeat(auto-fit, minmax(min(22rem, 100%), 1fr)); }}
details {{ margin: .25rem 0 .75rem; }}
summary {{ cursor: pointer; color: var(--candidate); padding: .25rem 0; width: fit-content; }}
dl {{ display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1.25rem; margin: .5rem 0; }}
dt {{ color: var(--muted); }} dd {{ margin: 0; }}
.notes {{ margin: .5rem 0; padding-left: 1.1rem; color: var(--muted); font-size: .9rem; }}
footer {{ max-width: 70rem; margin: 0 auto; padding: 1rem 1.25rem 2rem; color: var(--muted);
  font-size: .85rem; border-top: 1px solid var(--rule); }}

@media (max-width: 40rem) {{
  main, header.top, footer {{ padding-left: 1rem; padding-right: 1rem; }}
  h1 {{ font-size: 1.35rem; }}
  .optional {{ display: none; }}
  th, td {{ padding-right: .5rem; }}
  dl {{ grid-template-columns: 1fr; gap: 0; }} dd {{ margin-bottom: .5rem; }}
}}
@media print {{
  :root {{{LIGHT}}}
  @page {{ margin: 15mm; }}
  body {{ font-size: 10pt; }}
  nav {{ display: none; }}
  main, header.top, footer {{ max-width: none; padding-left: 0; padding-right: 0; }}
  section {{ padding: 1rem 0; }}
  h2, h3, caption {{ break-after: avoid; }}
  .plots {{ grid-template-columns: 1fr 1fr; }}
  .verdict, .tile, .meter i, .bar, svg * {{ print-color-adjust: exact; }}
  details::details-content {{ content-visibility: visible; block-size: auto; }}
  summary {{ color: var(--text); }}
  input[type=search], th button::after {{ display: none; }}
  table.sortable tbody tr:nth-child(n + 61) {{ display: none; }}
}}
"""
