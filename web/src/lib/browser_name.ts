// "Chrome on Linux" from what a browser calls itself, which nobody wants to read. What is not known is shown as it is.
import {showHidden} from './ansi';

const BROWSERS: readonly [RegExp, string][] = [
  [/\bEdg(e|A|iOS)?\//, 'Edge'], [/\b(OPR|Opera)\//, 'Opera'], [/\b(Firefox|FxiOS)\//, 'Firefox'], [/(Chrome|CriOS|Chromium)\//, 'Chrome'], [/\bSafari\//, 'Safari'],
];
const SYSTEMS: readonly [RegExp, string][] = [
  [/iPhone|iPad/, 'iOS'], [/Android/, 'Android'], [/Windows/, 'Windows'], [/Mac OS X|Macintosh/, 'macOS'], [/CrOS/, 'ChromeOS'], [/Linux/, 'Linux'],
];

const find = (names: readonly [RegExp, string][], text: string): string | null => names.find(([pattern]) => pattern.test(text))?.[1] ?? null;

export function browserName(agent: string): string {
  const browser = find(BROWSERS, agent);
  const system = find(SYSTEMS, agent);
  if (!browser) return showHidden(agent) || 'unknown';
  return system ? `${browser} on ${system}` : browser;
}
