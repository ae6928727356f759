import assert from 'node:assert/strict';
import {readFileSync} from 'node:fs';
import {join} from 'node:path';
import {test} from 'node:test';

declare const DROVER_WEB_FOLDER: string;

const css = ['tokens.css', 'log.css'].map(name => readFileSync(join(DROVER_WEB_FOLDER, 'src/styles', name), 'utf8')).join('\n');
const colours = new Map([...css.matchAll(/(--[\w-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\);/g)].map(([, name, light, dark]) => [name!, [light!, dark!] as const]));

function luminance(hex: string): number {
  const [red, green, blue] = [1, 3, 5].map(at => {
    const part = parseInt(hex.slice(at, at + 2), 16) / 255;
    return part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  }) as [number, number, number];
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrast(a: string, b: string): number {
  const [high, low] = [luminance(a), luminance(b)].sort((x, y) => y - x) as [number, number];
  return (high + 0.05) / (low + 0.05);
}

const STATES = ['--running', '--pending', '--scheduled', '--blocked', '--stalled', '--completed', '--failed', '--cancelled'];
const SURFACES = ['--surface', '--sunken', '--raised', '--hover', '--selected'];
const pairs: [string, string][] = [
  ...['--text', '--text-soft', '--text-faint', '--accent', ...STATES].flatMap(text => SURFACES.map(surface => [text, surface] as [string, string])),
  ['--running', '--running-wash'], ['--stalled', '--stalled-wash'], ['--failed', '--failed-wash'], ['--completed', '--completed-wash'], ['--scheduled', '--scheduled-wash'],
  ...['--text', '--text-soft', '--text-faint'].flatMap(text => ['--running-wash', '--stalled-wash', '--failed-wash', '--completed-wash', '--neutral-wash'].map(wash => [text, wash] as [string, string])),
  ...STATES.map(state => [state, '--neutral-wash'] as [string, string]),
  ['--on-accent', '--accent'], ['--on-accent', '--accent-strong'], ['--surface', '--failed'],
  ...Array.from({length: 16}, (_, at) => [`--a${at}`, '--sunken'] as [string, string]),
];

test('every text has a contrast of 4.5 where it is used, in both themes', () => {
  const poor: string[] = [];
  for (const [text, surface] of pairs) {
    for (const theme of [0, 1]) {
      const [a, b] = [colours.get(text), colours.get(surface)];
      assert.ok(a && b, `${text} on ${surface} is not a colour of both themes`);
      const value = contrast(a[theme]!, b[theme]!);
      if (value < 4.5) poor.push(`${text} on ${surface}, ${theme ? 'dark' : 'light'}: ${value.toFixed(2)}`);
    }
  }
  assert.deepEqual(poor, []);
});
