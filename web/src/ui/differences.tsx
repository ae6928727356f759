import {showHidden} from '../lib/ansi';
import type {Difference} from '../lib/json_diff';

const SHOWN = 200;
const CUT = 400;
const cut = (text: string): string => showHidden(text.length > CUT ? `${text.slice(0, CUT)}…` : text);

/** What differs, one path a line: + added, − removed, ~ changed. */
export function Differences({found}: {found: readonly Difference[]}) {
  return (
    <table class="differences">
      <tbody>
        {found.slice(0, SHOWN).map(({path, before, after}) => (
          <tr key={path}>
            <td class="mark" aria-label={before === null ? 'added' : after === null ? 'removed' : 'changed'}>{before === null ? '+' : after === null ? '−' : '~'}</td>
            <td class="path">{showHidden(path) || 'the value'}</td>
            <td>{before !== null && <del>{cut(before)}</del>}{before !== null && after !== null && ' → '}{after !== null && <ins>{cut(after)}</ins>}</td>
          </tr>
        ))}
        {found.length > SHOWN && <tr><td /><td class="path" colSpan={2}>{found.length - SHOWN} more</td></tr>}
      </tbody>
    </table>
  );
}
