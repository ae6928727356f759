// A list of tasks that matches a query: pages fetched on demand, changed by events. New rows come in, and rows that match no more
// go, only while nobody points at the list; until then they are counted.
import {batch, computed, signal} from '@preact/signals';
import {callWithText, describe} from '../../api/client';
import type {Event, TaskSummaryPage} from '../../api/types';
import {serverNow} from '../../lib/clock';
import {parseQuery, toParameters, valuesOf, type ParsedQuery} from '../../lib/query';
import {isFrozen, onEvents, resync} from '../../live/live';
import {afterEvent, mayEnter, rowOf, stillMatches, type TaskRow} from './task_row';

const FIRST_PAGE = 100;
const NEXT_PAGE = 300;
const HEAD_QUIET_MS = 1000;
const HEAD_QUIET_MOST_MS = 8000;
const COUNT_QUIET_MS = 5000;

export interface Total {
  tasks: number;
  isCapped: boolean;
}

export class TaskList {
  readonly query: ParsedQuery;
  readonly rows = signal<readonly TaskRow[]>([]);
  readonly isEmpty = computed(() => this.rows.value.length === 0);
  readonly total = signal<Total | null>(null);
  readonly isLoading = signal(true);
  readonly isComplete = signal(false);
  readonly error = signal<string | null>(null);
  /** Tasks that may have come since, and that wait for the pointer to leave or for a click. */
  readonly waiting = signal(0);

  private list: TaskRow[] = [];
  private index = new Map<string, number>();
  private cursor: string | null = null;
  private isBusy = false;
  private isFetching = false;
  private isActive = false;
  private headTimer = 0;
  private headAt = 0;
  private headTookMs = 0;
  private countTimer = 0;
  private entered = new Set<string>();
  private stopEvents: () => void = () => {};
  private stopResync: () => void = () => {};

  constructor(readonly text: string) {
    this.query = parseQuery(text);
  }

  private get isNewestFirst(): boolean {
    return valuesOf(this.query, 'order')[0] !== 'oldest';
  }

  start(): void {
    if (this.isActive) return;
    this.isActive = true;
    if (this.list.length) {
      this.stopEvents = onEvents(events => this.apply(events));
      this.headSoon();
    } else {
      void this.load();
    }
    let seen = resync.peek();
    this.stopResync = resync.subscribe(value => {
      if (value !== seen) void this.load();
      seen = value;
    });
  }

  stop(): void {
    this.isActive = false;
    this.stopEvents();
    this.stopResync();
    clearTimeout(this.headTimer);
    clearTimeout(this.countTimer);
    this.headTimer = this.countTimer = 0;
  }

  private fetch(limit: number, cursor: string | null, count: boolean) {
    return callWithText('GET /v1/tasks', {query: {...toParameters(this.query, serverNow()), view: 'summary', limit, ...(cursor ? {cursor} : {}), ...(count ? {count} : {})}});
  }

  /** Everything afresh, as of a new sequence number. What is shown stays until the answer is here. */
  async load(): Promise<void> {
    this.isLoading.value = true;
    try {
      const {data, asOf} = await this.fetch(FIRST_PAGE, null, true);
      if (!this.isActive) return;
      const page = data as TaskSummaryPage;
      batch(() => {
        this.list = page.tasks.map(rowOf);
        this.cursor = page.cursor;
        this.entered.clear();
        this.waiting.value = 0;
        this.isComplete.value = page.cursor === null;
        this.error.value = null;
        this.setTotal(page);
        this.publish(true);
      });
      this.stopEvents();
      this.stopEvents = onEvents(events => this.apply(events), asOf);
    } catch (error) {
      this.error.value = describe(error);
    } finally {
      this.isLoading.value = false;
    }
  }

  async more(): Promise<void> {
    if (this.isFetching || this.cursor === null || !this.list.length) return;
    this.isFetching = true;
    try {
      const page = (await this.fetch(NEXT_PAGE, this.cursor, false)).data as TaskSummaryPage;
      for (const task of page.tasks) {
        if (this.index.has(task.id)) continue;
        this.index.set(task.id, this.list.length);
        this.list.push(rowOf(task));
      }
      this.cursor = page.cursor;
      this.isComplete.value = page.cursor === null;
      this.error.value = null;
      this.publish(false);
    } catch (error) {
      this.error.value = describe(error);
    } finally {
      this.isFetching = false;
    }
  }

  private setTotal(page: TaskSummaryPage): void {
    if (page.count) this.total.value = {tasks: page.count.tasks, isCapped: page.count.capped};
  }

  private publish(isReindexed: boolean): void {
    if (isReindexed) {
      this.index = new Map();
      for (let at = 0; at < this.list.length; at++) this.index.set(this.list[at]!.id, at);
    }
    this.rows.value = this.list.slice();
    // A list that is here to its end needs no counting.
    if (this.isComplete.peek()) this.total.value = {tasks: this.list.length, isCapped: false};
  }

  private apply(events: readonly Event[]): void {
    let isChanged = false;
    let hasGone = false;
    for (const event of events) {
      if (!event.task_id) continue;
      const at = this.index.get(event.task_id);
      if (at === undefined) {
        if (mayEnter(event, this.query)) this.entered.add(event.task_id);
        continue;
      }
      const before = this.list[at]!;
      let after = afterEvent(before, event);
      const isGone = event.name === 'task.deleted' || !stillMatches(after, this.query);
      if (isGone !== after.isGone) after = {...after, isGone};
      hasGone ||= isGone;
      if (after !== before) {
        this.list[at] = after;
        isChanged = true;
      }
    }
    if (isChanged) this.publish(false);
    if (hasGone) this.sweep();
    if (this.entered.size) this.onEntered();
    if (isChanged || hasGone || this.entered.size) this.countSoon();
  }

  /** Pointer, focus or a selection is on the list. */
  setBusy(isBusy: boolean): void {
    if (isBusy === this.isBusy) return;
    this.isBusy = isBusy;
    if (isBusy) return;
    this.sweep();
    if (this.entered.size) this.onEntered();
  }

  private sweep(): void {
    if (this.isBusy || !this.list.some(row => row.isGone)) return;
    this.list = this.list.filter(row => !row.isGone);
    this.publish(true);
  }

  private onEntered(): void {
    if (!this.isNewestFirst) {
      if (this.isComplete.peek()) this.waiting.value = this.entered.size;
    } else if (this.isBusy) {
      this.waiting.value = this.entered.size;
    } else {
      this.headSoon();
    }
  }

  /** Shows what waits, now. */
  showNew(): void {
    if (this.isNewestFirst) void this.fetchHead();
    else void this.load();
  }

  private headSoon(): void {
    // A server that answers slowly is asked less often.
    const quiet = Math.min(HEAD_QUIET_MOST_MS, Math.max(HEAD_QUIET_MS, this.headTookMs * 8));
    this.headTimer ||= window.setTimeout(() => {
      this.headTimer = 0;
      if (isFrozen.peek()) this.headSoon();  // what is shown holds still until somebody goes on
      else if (this.isBusy && this.entered.size) this.waiting.value = this.entered.size;
      else void this.fetchHead();
    }, Math.max(isFrozen.peek() ? HEAD_QUIET_MS : 0, this.headAt + quiet - Date.now()));
  }

  private async fetchHead(): Promise<void> {
    if (this.isFetching) return this.headSoon();
    this.isFetching = true;
    const startedAt = Date.now();
    const entered = this.entered;
    this.entered = new Set();
    try {
      const page = (await this.fetch(FIRST_PAGE, null, false)).data as TaskSummaryPage;
      if (!this.isActive) return;
      this.mergeHead(page);
      this.waiting.value = this.entered.size;
      this.error.value = null;
    } catch (error) {
      for (const id of entered) this.entered.add(id);
      this.error.value = describe(error);
      if (this.isActive) this.headSoon();
    } finally {
      this.isFetching = false;
      this.headAt = Date.now();
      this.headTookMs = this.headAt - startedAt;
    }
  }

  private mergeHead(page: TaskSummaryPage): void {
    const fresh = page.tasks.map(rowOf);
    const isOverlapping = fresh.some(row => this.index.has(row.id)) || !this.list.length;
    if (!isOverlapping) {
      // More new tasks than a page holds: what is between is unknown, so the list starts over.
      this.list = fresh;
      this.cursor = page.cursor;
      this.isComplete.value = page.cursor === null;
    } else {
      // The page is the newest part of the list as it is now. What follows are rows that are older than its last one.
      const ids = new Set(fresh.map(row => row.id));
      const oldest = fresh[fresh.length - 1]?.createdAt ?? 0;
      const rest = page.cursor === null ? [] : this.list.filter(row => row.createdAt <= oldest && !ids.has(row.id) && !row.isGone);
      this.list = fresh.concat(rest);
      if (page.cursor === null) this.isComplete.value = true;
    }
    this.publish(true);
  }

  private countSoon(): void {
    this.countTimer ||= window.setTimeout(async () => {
      this.countTimer = 0;
      try {
        this.setTotal((await this.fetch(1, null, true)).data as TaskSummaryPage);
      } catch {
        // The number stays as it was; the list itself says when the server cannot be reached.
      }
    }, COUNT_QUIET_MS);
  }

  indexOf(id: string): number {
    return this.index.get(id) ?? -1;
  }
}

// The list that was looked at last stays, so that Back is instant and `[` and `]` know their way.
let latest: TaskList | null = null;

export function listFor(text: string): TaskList {
  if (latest?.text !== text) latest = new TaskList(text);
  return latest;
}

export const latestList = (): TaskList | null => latest;
