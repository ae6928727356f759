// Icons of 16 by 16, drawn with strokes in the current colour. One place for the page and for rows that are drawn by hand.

const STROKES = {
  // states
  running: 'M8 2a6 6 0 1 1-6 6M8 8h.01',
  pending: 'M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2M5.4 8h.01M8 8h.01M10.6 8h.01',
  scheduled: 'M3 3.5h10v10H3zM3 6.5h10M5.8 1.8v3M10.2 1.8v3',
  blocked: 'M5.2 7V5a2.8 2.8 0 0 1 5.6 0v2M3.5 7h9v6.5h-9z',
  stalled: 'M8 2 1.8 13.2h12.4zM8 6.5v3M8 11.4v.1',
  completed: 'M8 1.9a6.1 6.1 0 1 0 0 12.2A6.1 6.1 0 0 0 8 1.9M5.2 8.2l2 2 3.6-4.2',
  failed: 'M8 1.9a6.1 6.1 0 1 0 0 12.2A6.1 6.1 0 0 0 8 1.9M5.8 5.8l4.4 4.4M10.2 5.8l-4.4 4.4',
  cancelled: 'M8 1.9a6.1 6.1 0 1 0 0 12.2A6.1 6.1 0 0 0 8 1.9M3.8 12.2l8.4-8.4',
  // navigation
  inbox: 'M2 9.5 4 3h8l2 6.5V13H2zM2 9.5h3.5l1 1.8h3l1-1.8H14',
  overview: 'M2 2h5v6H2zM9 2h5v3.5H9zM9 7.5h5V14H9zM2 10h5v4H2z',
  tasks: 'M2.5 4h1M2.5 8h1M2.5 12h1M6 4h7.5M6 8h7.5M6 12h7.5',
  dead: 'M3 9.2a5 5 0 1 1 10 0c0 1.6-1 2.3-2 2.6V14H5v-2.2c-1-.3-2-1-2-2.6M6 8.4v.1M10 8.4v.1M7 14v-1.5M9 14v-1.5',
  queues: 'M2 4h12M2 8h12M2 12h7M12.5 10.5v3.5M11 12.2h3',
  workers: 'M4.5 4.5h7v7h-7zM6.5 1.8v2.7M9.5 1.8v2.7M6.5 11.5v2.7M9.5 11.5v2.7M1.8 6.5h2.7M1.8 9.5h2.7M11.5 6.5h2.7M11.5 9.5h2.7',
  alerts: 'M4 11V7a4 4 0 0 1 8 0v4l1.2 1.5H2.8zM6.6 14.2h2.8',
  costs: 'M8 1.8v12.4M11 4.3C10.4 3.4 9.3 3 8 3 6.3 3 5 3.9 5 5.4c0 3.3 6.2 1.7 6.2 5 0 1.6-1.4 2.6-3.2 2.6-1.5 0-2.8-.6-3.3-1.8',
  sessions: 'M6.2 4.2a4.6 4.6 0 1 0 3.6 0M8 1.8v5',
  conversations: 'M2 2.5h9v6.5H6.5L4 11.5V9H2zM13 5.5h1.2v6H13v2l-2.2-2H8',
  settings: 'M2 4.5h7M12.5 4.5H14M2 11.5h1.5M7 11.5h7M9 3v3h3.5V3zM3.5 10v3H7v-3z',
  // things
  search: 'M7 2.2a4.8 4.8 0 1 0 0 9.6 4.8 4.8 0 0 0 0-9.6M10.6 10.6 14 14',
  close: 'M3.5 3.5l9 9M12.5 3.5l-9 9',
  check: 'M3 8.5l3.2 3.2L13 4.5',
  chevron: 'M6 3.5 10.5 8 6 12.5',
  down: 'M3.5 6 8 10.5 12.5 6',
  up: 'M3.5 10 8 5.5 12.5 10',
  copy: 'M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3',
  more: 'M3 8h.01M8 8h.01M13 8h.01',
  external: 'M6.5 3H3v10h10V9.5M9 2.5h4.5V7M13.5 2.5 7.5 8.5',
  download: 'M8 2v8M4.5 7 8 10.5 11.5 7M2.5 13.5h11',
  stop: 'M5.1 1.8h5.8l3.3 3.3v5.8l-3.3 3.3H5.1l-3.3-3.3V5.1zM5.5 8h5',
  pause: 'M5 3v10M11 3v10',
  play: 'M4.5 2.5v11l9-5.5z',
  retry: 'M13.5 8a5.5 5.5 0 1 1-1.7-4M13.5 1.8V4.5h-2.7',
  edit: 'M2.5 13.5l.8-3 7.7-7.7 2.2 2.2-7.7 7.7zM9.5 4.3l2.2 2.2',
  trash: 'M2.5 4h11M6 4V2.5h4V4M4 4l.6 9.5h6.8L12 4M6.7 6.5v4.5M9.3 6.5v4.5',
  person: 'M8 8.5a3 3 0 1 0 0-6 3 3 0 0 0 0 6M2.5 14c.4-2.7 2.6-4 5.5-4s5.1 1.3 5.5 4',
  question: 'M2 2.5h12v8.5H8.5L5 14v-3H2zM6.3 5.6a1.7 1.7 0 1 1 2.4 1.6c-.5.2-.7.5-.7.9M8 9.3v.1',
  gate: 'M2.5 14V3M13.5 14V3M2.5 5h11M2.5 9h11M6 5v9M10 5v9',
  link: 'M6.8 9.2a2.6 2.6 0 0 0 3.7 0l2.3-2.3a2.6 2.6 0 0 0-3.7-3.7l-.9.9M9.2 6.8a2.6 2.6 0 0 0-3.7 0L3.2 9.1a2.6 2.6 0 0 0 3.7 3.7l.9-.9',
  sun: 'M8 5a3 3 0 1 0 0 6 3 3 0 0 0 0-6M8 1v1.5M8 13.5V15M1 8h1.5M13.5 8H15M3 3l1 1M12 12l1 1M13 3l-1 1M4 12l-1 1',
  moon: 'M13.5 9.8A6 6 0 0 1 6.2 2.5a6 6 0 1 0 7.3 7.3',
  system: 'M2 3h12v8H2zM6 14h4M8 11v3',
  menu: 'M2.5 4h11M2.5 8h11M2.5 12h11',
  keyboard: 'M1.5 4h13v8h-13zM4 6.5h.01M6.7 6.5h.01M9.3 6.5h.01M12 6.5h.01M5 9.5h6',
  info: 'M8 1.9a6.1 6.1 0 1 0 0 12.2A6.1 6.1 0 0 0 8 1.9M8 7.3v3.7M8 4.9v.1',
  warning: 'M8 2 1.8 13.2h12.4zM8 6.5v3M8 11.4v.1',
  plus: 'M8 3v10M3 8h10',
  bookmark: 'M4 2.2h8v11.6l-4-3-4 3z',
  filter: 'M2 3.5h12L9.5 8.8v4.7l-3-1.5V8.8z',
  command: 'M3 5.5 6 8l-3 2.5M8 11h5',
  signout: 'M6.5 2.5h-4v11h4M10 5l3 3-3 3M13 8H6',
} as const;

export type IconName = keyof typeof STROKES;

export function Icon({name, size = 16, className = ''}: {name: IconName; size?: number; className?: string}) {
  return (
    <svg class={`icon ${className}`} width={size} height={size} viewBox="0 0 16 16" aria-hidden="true">
      <path d={STROKES[name]} />
    </svg>
  );
}

/** The same for rows that are drawn without components. */
export function iconElement(name: IconName): SVGSVGElement {
  const space = 'http://www.w3.org/2000/svg';
  const svg = document.createElementNS(space, 'svg');
  svg.setAttribute('class', 'icon');
  svg.setAttribute('width', '16');
  svg.setAttribute('height', '16');
  svg.setAttribute('viewBox', '0 0 16 16');
  svg.setAttribute('aria-hidden', 'true');
  const path = document.createElementNS(space, 'path');
  path.setAttribute('d', STROKES[name]);
  svg.append(path);
  return svg;
}
