// Small building blocks of the pages that are lists of a few hundred things at most. Thousands of rows belong into <Table>.
import {Fragment, type ComponentChildren} from 'preact';
import {useRef} from 'preact/hooks';
import {steady} from '../lib/steady';
import {href, here} from '../router';

export function PageHead({title, note, children}: {title: string; note?: ComponentChildren; children?: ComponentChildren}) {
  return (
    <header class="page-head">
      <h1>{title}</h1>
      {note && <span class="faint page-note">{note}</span>}
      <span class="grow" />
      {children}
    </header>
  );
}

export interface Head {
  label: string;
  end?: boolean;
  /** Read aloud, not shown: a column of buttons. */
  isHidden?: boolean;
}

/** A table that becomes cards on a narrow screen: each cell says its label there. */
export function List({heads, children, caption, hold}: {heads: readonly Head[]; children: ComponentChildren; caption: string; hold?: Steady<unknown>['hold']}) {
  return (
    <table class="list" {...hold}>
      <caption class="visually-hidden">{caption}</caption>
      <thead>
        <tr>{heads.map(head => <th key={head.label} scope="col" class={head.end ? 'end' : ''}>{head.isHidden ? <span class="visually-hidden">{head.label}</span> : head.label}</th>)}</tr>
      </thead>
      <tbody>{children}</tbody>
    </table>
  );
}

export function Cell({label, end, main, children, className = ''}: {label?: string; end?: boolean; main?: boolean; children?: ComponentChildren; className?: string}) {
  return <td data-label={label} class={`${end ? 'end' : ''} ${main ? 'main' : ''} ${className}`}>{children}</td>;
}

export interface Steady<T> {
  items: readonly T[];
  /** For the element around them: while the pointer or the focus is in it, they keep their order. */
  hold: {onPointerEnter: () => void; onPointerLeave: () => void; onFocusIn: () => void; onFocusOut: () => void};
}

/** Lists that sort themselves do not do it under somebody's pointer: what one aims at stays there. */
export function useSteady<T>(items: readonly T[], keyOf: (item: T) => string): Steady<T> {
  const state = useRef({pointer: false, focus: false, shown: [] as string[]});
  const {current} = state;
  const shown = current.pointer || current.focus ? steady(current.shown, items, keyOf) : items;
  current.shown = shown.map(keyOf);
  return {
    items: shown,
    hold: {
      onPointerEnter: () => void (current.pointer = true), onPointerLeave: () => void (current.pointer = false),
      onFocusIn: () => void (current.focus = true), onFocusOut: () => void (current.focus = false),
    },
  };
}

/** Choices that the address holds: `?by=model`. */
export function Choices({name, values, fallback, label}: {name: string; values: readonly {value: string; label: string}[]; fallback: string; label: string}) {
  const query = here.value.query;
  const chosen = query.get(name) ?? fallback;
  const others = Object.fromEntries(query);
  return (
    <nav class="segmented" aria-label={label}>
      {values.map(({value, label: words}) => (
        <a key={value} href={href(here.value.path, {...others, [name]: value === fallback ? null : value})} aria-current={value === chosen ? 'true' : undefined}>{words}</a>
      ))}
    </nav>
  );
}

/** A number with its name, for the top of a page. */
export function Figure({label, value, note, tone = ''}: {label: string; value: ComponentChildren; note?: ComponentChildren; tone?: string}) {
  return (
    <div class={`figure card ${tone}`}>
      <span class="figure-label">{label}</span>
      <span class="figure-value">{value}</span>
      {note && <span class="faint figure-note">{note}</span>}
    </div>
  );
}

export function Section({title, note, children, tools}: {title: string; note?: ComponentChildren; children: ComponentChildren; tools?: ComponentChildren}) {
  return (
    <section class="section" aria-label={title}>
      <header><h2>{title}</h2>{note && <span class="faint">{note}</span>}<span class="grow" />{tools}</header>
      {children}
    </section>
  );
}

/** Names and values; what has no value is left out. */
export function Facts({facts}: {facts: readonly [string, ComponentChildren][]}) {
  return <dl class="facts">{facts.map(([name, value]) => value ? <Fragment key={name}><dt>{name}</dt><dd>{value}</dd></Fragment> : null)}</dl>;
}
