import {effect, type ReadonlySignal} from '@preact/signals';
import {useEffect, useLayoutEffect, useRef} from 'preact/hooks';
import {now} from '../lib/clock';
import {keepScroll, scrollOf} from '../router';
import {TablePool, type PoolOptions} from './table_pool';

export type {Column} from './table_pool';
export {drawText} from './table_pool';

export interface TableProps<Row> extends PoolOptions<Row> {
  /** Names the scroll position in the history. */
  name: string;
  rows: ReadonlySignal<readonly Row[]>;
  /** Keys of selected rows, so that a change is drawn. */
  selection?: ReadonlySignal<ReadonlySet<string>>;
  /** The row whose pane is open, if one is. */
  activeKey?: string | null;
  /** Gives the pool to the page, for keys and for `[` and `]`. */
  poolRef?: (pool: TablePool<Row> | null) => void;
}

/** A component around the pool. It renders one element; rows come and go without rendering. */
export function Table<Row>(props: TableProps<Row>) {
  const holder = useRef<HTMLDivElement>(null);
  const pool = useRef<TablePool<Row> | null>(null);
  const options: PoolOptions<Row> = props;
  if (pool.current === null && typeof document !== 'undefined') pool.current = new TablePool<Row>(options);
  useLayoutEffect(() => pool.current!.setOptions(options));
  useEffect(() => {
    const table = pool.current!;
    holder.current!.append(table.element);
    props.poolRef?.(table);
    // Where the list was when it was left; reached as soon as enough rows are here, unless somebody scrolls first.
    let offset = scrollOf(props.name);
    const giveUp = () => void (offset = 0);
    const USER = ['wheel', 'pointerdown', 'keydown', 'touchstart'] as const;
    for (const kind of USER) table.element.addEventListener(kind, giveUp, {passive: true});
    const restore = () => {
      if (!offset) return;
      table.scrollTo(offset);
      if (table.element.scrollTop >= offset - 1) offset = 0;
    };
    const stop = effect(() => {
      table.setRows(props.rows.value);
      if (offset && props.rows.value.length) requestAnimationFrame(restore);
    });
    const stopClock = now.subscribe(value => table.tick(value));
    const stopSelection = props.selection?.subscribe(() => table.tick(now.peek()));
    const stopScroll = keepScroll(props.name, () => table.element.scrollTop);
    return () => {
      stop();
      stopClock();
      stopSelection?.();
      stopScroll();
      props.poolRef?.(null);
      table.destroy();
    };
  }, [props.rows, props.name]);
  // A pane that is closed leaves its row where the keys are.
  useEffect(() => {
    if (props.activeKey) pool.current!.setActiveKey(props.activeKey);
  }, [props.activeKey]);
  return <div class="table-holder" ref={holder} />;
}
