// A table of any length with a few dozen elements: rows that scroll out of sight are used again for those that come in. Rows are
// drawn without components; 100,000 of them and 5,000 changes a second stay fluid.
//
// A row is an object that is never changed: a change is a new object, and only rows whose object changed are drawn again.

export interface Column<Row> {
  key: string;
  label: string;
  /** A track of the grid: "120px", "minmax(160px, 1fr)". */
  width: string;
  align?: 'end';
  /** Leave the column out when the table is narrower than this. */
  from?: number;
  /** Where it goes on a card (narrow screens); "none" leaves it out. */
  card?: 'state' | 'end' | 'title' | 'meta' | 'none';
  /** Draw again every second: it shows a time. */
  ticks?: boolean;
  /** The cell is the row's link. */
  isLink?: boolean;
  draw(cell: HTMLElement, row: Row, now: number): void;
}

export interface PoolOptions<Row> {
  label: string;
  columns: readonly Column<Row>[];
  keyOf(row: Row): string;
  hrefOf?(row: Row): string;
  /** A class for the whole row. */
  rowClass?(row: Row): string;
  onOpen?(row: Row, index: number): void;
  /** Rows get a checkbox; `isRange` is a click with Shift. */
  onSelect?(row: Row, index: number, isRange: boolean): void;
  isSelected?(key: string): boolean;
  onActive?(row: Row | null): void;
  /** Pointer or focus is inside: the list should hold still. */
  onBusy?(isBusy: boolean): void;
  /** The end is near: fetch more. */
  onEnd?(): void;
  rowHeight: number;
  cardHeight: number;
  /** Below this width rows become cards. */
  cardsBelow?: number;
}

interface Slot<Row> {
  element: HTMLElement;
  cells: HTMLElement[];
  box: HTMLInputElement | null;
  index: number;
  row: Row | null;
  mark: string;
}

const OVERSCAN = 6;
const END_ROWS = 40;
const CARDS_BELOW = 560;
let tables = 0;

export class TablePool<Row> {
  readonly element = document.createElement('div');
  private readonly id = `table${++tables}`;
  private readonly head = document.createElement('div');
  private readonly body = document.createElement('div');
  private slots: Slot<Row>[] = [];
  private columns: readonly Column<Row>[] = [];
  private rows: readonly Row[] = [];
  private isCards = false;
  private activeIndex = -1;
  private now = 0;
  private frame = 0;
  private readonly observer: ResizeObserver;

  constructor(private options: PoolOptions<Row>) {
    this.element.className = 'table';
    this.element.tabIndex = 0;
    this.element.setAttribute('role', 'grid');
    this.element.setAttribute('aria-label', options.label);
    this.head.className = 'table-head';
    this.head.setAttribute('role', 'row');
    this.body.className = 'table-body';
    this.body.setAttribute('role', 'rowgroup');
    this.element.append(this.head, this.body);
    this.element.addEventListener('scroll', () => this.later(), {passive: true});
    this.element.addEventListener('keydown', event => this.onKey(event));
    this.element.addEventListener('click', event => this.onClick(event));
    this.element.addEventListener('pointerenter', () => this.options.onBusy?.(true));
    this.element.addEventListener('pointerleave', () => this.options.onBusy?.(this.hasFocus()));
    this.element.addEventListener('focusin', () => this.options.onBusy?.(true));
    this.element.addEventListener('focusout', () => requestAnimationFrame(() => this.options.onBusy?.(this.hasFocus() || this.element.matches(':hover'))));
    this.observer = new ResizeObserver(() => this.fit());
    this.observer.observe(this.element);
  }

  destroy(): void {
    this.observer.disconnect();
    cancelAnimationFrame(this.frame);
  }

  private hasFocus(): boolean {
    return this.element.contains(document.activeElement) && this.activeIndex >= 0;
  }

  get active(): Row | null {
    return this.rows[this.activeIndex] ?? null;
  }

  get firstVisible(): number {
    return Math.floor(this.element.scrollTop / this.height);
  }

  private get height(): number {
    return this.isCards ? this.options.cardHeight : this.options.rowHeight;
  }

  setOptions(options: PoolOptions<Row>): void {
    const hasNewColumns = options.columns !== this.options.columns;
    this.options = options;
    if (hasNewColumns) this.fit(true);
  }

  setRows(rows: readonly Row[]): void {
    const active = this.active;
    this.rows = rows;
    if (active !== null) {
      const key = this.options.keyOf(active);
      if (!rows[this.activeIndex] || this.options.keyOf(rows[this.activeIndex]!) !== key)
        this.activeIndex = rows.findIndex(row => this.options.keyOf(row) === key);
    }
    this.element.setAttribute('aria-rowcount', String(rows.length + 1));
    this.body.style.height = `${rows.length * this.height}px`;
    this.later();
  }

  /** A second has passed, or the selection changed. */
  tick(now: number): void {
    this.now = now;
    this.later();
  }

  scrollTo(offset: number): void {
    this.element.scrollTop = offset;
    this.paint();
  }

  // Which columns there is room for, and whether rows are cards. New columns mean new cells.
  private fit(force = false): void {
    const width = this.element.clientWidth;
    if (width === 0) return;
    const isCards = width < (this.options.cardsBelow ?? CARDS_BELOW);
    const columns = this.options.columns.filter(column => (isCards ? column.card !== 'none' : width >= (column.from ?? 0)));
    const isSame = !force && isCards === this.isCards && columns.length === this.columns.length && columns.every((column, at) => column === this.columns[at]);
    if (!isSame) {
      this.isCards = isCards;
      this.columns = columns;
      this.element.classList.toggle('cards', isCards);
      const tracks = columns.map(column => column.width).join(' ');
      this.element.style.setProperty('--tracks', (this.options.onSelect ? '16px ' : '') + tracks);
      this.element.style.setProperty('--row', `${this.height}px`);
      this.slots = [];
      this.body.replaceChildren();
      this.drawHead();
    }
    this.setRows(this.rows);
    this.paint();
  }

  private drawHead(): void {
    const cells = this.columns.map(column => {
      const cell = document.createElement('div');
      cell.className = `cell c-${column.key}${column.align ? ' end' : ''}`;
      cell.setAttribute('role', 'columnheader');
      cell.textContent = column.label;
      return cell;
    });
    if (this.options.onSelect) {
      const blank = document.createElement('div');
      blank.className = 'cell box';
      blank.setAttribute('role', 'columnheader');
      const word = document.createElement('span');
      word.className = 'visually-hidden';
      word.textContent = 'Selected';
      blank.append(word);
      cells.unshift(blank);
    }
    this.head.replaceChildren(...cells);
  }

  private newSlot(): Slot<Row> {
    const element = document.createElement('div');
    element.className = 'row';
    element.hidden = true;
    element.setAttribute('role', 'row');
    let box: HTMLInputElement | null = null;
    if (this.options.onSelect) {
      const cell = document.createElement('div');
      cell.className = 'cell box';
      cell.setAttribute('role', 'gridcell');
      box = document.createElement('input');
      box.type = 'checkbox';
      box.tabIndex = -1;
      cell.append(box);
      element.append(cell);
    }
    const cells = this.columns.map(column => {
      const cell = document.createElement(column.isLink && this.options.hrefOf ? 'a' : 'div');
      cell.className = `cell c-${column.key}${column.align ? ' end' : ''} card-${column.card ?? 'meta'}`;
      if (cell instanceof HTMLAnchorElement) {
        cell.tabIndex = -1;
        const holder = document.createElement('div');
        holder.className = `cell link-cell card-${column.card ?? 'meta'}`;
        holder.setAttribute('role', 'gridcell');
        holder.append(cell);
        element.append(holder);
      } else {
        cell.setAttribute('role', 'gridcell');
        element.append(cell);
      }
      return cell;
    });
    this.body.append(element);
    return {element, cells, box, index: -1, row: null, mark: ''};
  }

  /** Draws with the next frame; many changes make one. */
  private later(): void {
    if (this.frame) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      this.paint();
    });
  }

  private paint(): void {
    if (!this.columns.length) return;
    const first = Math.max(0, Math.floor(this.element.scrollTop / this.height) - OVERSCAN);
    const last = Math.min(this.rows.length, Math.ceil((this.element.scrollTop + this.element.clientHeight) / this.height) + OVERSCAN);
    const wanted = Math.max(0, last - first);
    if (this.slots.length < wanted) {
      // A slot belongs to the rows whose number has the same remainder, so another size shuffles all of them.
      const size = wanted + OVERSCAN;
      while (this.slots.length < size) this.slots.push(this.newSlot());
      for (const slot of this.slots) slot.index = -1;
    }
    const used = new Set<Slot<Row>>();
    for (let index = first; index < last; index++) {
      const slot = this.slots[index % this.slots.length]!;
      used.add(slot);
      this.draw(slot, index);
    }
    for (const slot of this.slots) if (!used.has(slot) && slot.index >= 0) this.hide(slot);
    this.element.setAttribute('aria-activedescendant', this.activeIndex >= first && this.activeIndex < last ? `${this.id}-${this.activeIndex % this.slots.length}` : '');
    if (this.rows.length && last >= this.rows.length - END_ROWS) this.options.onEnd?.();
  }

  private hide(slot: Slot<Row>): void {
    slot.index = -1;
    slot.row = null;
    slot.element.hidden = true;
  }

  private draw(slot: Slot<Row>, index: number): void {
    const row = this.rows[index]!;
    const key = this.options.keyOf(row);
    const isSelected = this.options.isSelected?.(key) ?? false;
    const className = `row ${this.options.rowClass?.(row) ?? ''}${isSelected ? ' selected' : ''}${index === this.activeIndex ? ' active' : ''}`;
    const mark = className;
    const isSame = slot.index === index && slot.row === row;
    const isTicking = this.columns.some(column => column.ticks);
    if (isSame && slot.mark === mark && !isTicking) return;
    if (slot.index !== index) {
      slot.element.hidden = false;
      slot.element.style.transform = `translateY(${index * this.height}px)`;
      slot.element.setAttribute('aria-rowindex', String(index + 2));
      slot.element.id = `${this.id}-${index % this.slots.length}`;
    }
    if (slot.mark !== mark || slot.index !== index) {
      slot.element.className = className;
      slot.element.setAttribute('aria-selected', String(isSelected));
      if (slot.box) slot.box.checked = isSelected;
    }
    this.columns.forEach((column, at) => {
      if (isSame && !column.ticks) return;
      const cell = slot.cells[at]!;
      if (!isSame && cell instanceof HTMLAnchorElement) cell.href = this.options.hrefOf!(row);
      column.draw(cell, row, this.now);
    });
    if (!isSame && slot.box) slot.box.setAttribute('aria-label', `Select ${key}`);
    slot.index = index;
    slot.row = row;
    slot.mark = mark;
  }

  private indexOf(target: EventTarget | null): number {
    const element = (target as Element | null)?.closest?.('.row');
    const slot = this.slots.find(one => one.element === element);
    return slot ? slot.index : -1;
  }

  private onClick(event: MouseEvent): void {
    const index = this.indexOf(event.target);
    const row = this.rows[index];
    if (!row) return;
    const target = event.target as Element;
    if (target.closest('.box')) {
      event.preventDefault();
      this.setActive(index);
      this.options.onSelect?.(row, index, event.shiftKey);
      return;
    }
    const link = target.closest('a');
    if (event.metaKey || event.ctrlKey || event.button !== 0) return;
    if (link && (event.shiftKey || event.altKey || !link.classList.contains('cell'))) return;
    if (event.shiftKey && this.options.onSelect) {
      event.preventDefault();
      this.options.onSelect(row, index, true);
      return;
    }
    if (String(getSelection() ?? '') !== '' && !link) return;  // somebody marks text
    if (this.options.onOpen) {
      event.preventDefault();
      this.setActive(index);
      this.options.onOpen(row, index);
    }
  }

  setActive(index: number): void {
    this.activeIndex = Math.max(-1, Math.min(this.rows.length - 1, index));
    this.reveal();
    this.options.onActive?.(this.active);
    this.paint();
  }

  setActiveKey(key: string): void {
    const index = this.rows.findIndex(row => this.options.keyOf(row) === key);
    if (index === this.activeIndex) return;
    this.activeIndex = index;
    if (index >= 0) this.reveal();
    this.paint();
  }

  private reveal(): void {
    if (this.activeIndex < 0) return;
    const top = this.activeIndex * this.height;
    const room = this.element.clientHeight - this.head.offsetHeight;
    if (top < this.element.scrollTop) this.element.scrollTop = top;
    else if (top + this.height > this.element.scrollTop + room) this.element.scrollTop = top + this.height - room;
  }

  /** Moves the active row; for keys that belong to the whole page. */
  move(by: number): void {
    const start = this.activeIndex < 0 ? (by > 0 ? this.firstVisible - 1 : this.firstVisible + 1) : this.activeIndex;
    this.setActive(Math.max(0, start + by));
  }

  openActive(): void {
    if (this.active) this.options.onOpen?.(this.active, this.activeIndex);
  }

  toggleActive(isRange = false): void {
    if (this.active) this.options.onSelect?.(this.active, this.activeIndex, isRange);
  }

  private onKey(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target !== this.element) return;
    const page = Math.max(1, Math.floor(this.element.clientHeight / this.height) - 2);
    const moves: Record<string, () => void> = {
      ArrowDown: () => this.move(1),
      ArrowUp: () => this.move(-1),
      PageDown: () => this.move(page),
      PageUp: () => this.move(-page),
      Home: () => this.setActive(0),
      End: () => this.setActive(this.rows.length - 1),
      Enter: () => this.openActive(),
      ' ': () => this.toggleActive(event.shiftKey),
    };
    const move = moves[event.key];
    if (!move) return;
    event.preventDefault();
    move();
  }
}

/** Writes a text once; the same text again costs nothing. */
export function drawText(cell: HTMLElement, text: string, title = '', className?: string): void {
  if (cell.textContent !== text || cell.firstElementChild) cell.textContent = text;
  if (cell.title !== title) cell.title = title;
  if (className !== undefined && cell.dataset['look'] !== className) {
    if (cell.dataset['look']) cell.classList.remove(...cell.dataset['look'].split(' '));
    if (className) cell.classList.add(...className.split(' '));
    cell.dataset['look'] = className;
  }
}
