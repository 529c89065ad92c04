import type { Signal } from './signal.ts';

/** Work that a worker does repeatedly in the background, never concurrently. */
export type Task = {
  readonly name: string;
  /** Does one run and returns the wait until the next one in ms; 0 continues immediately. */
  readonly work: () => Promise<number>;
  /** True if it stops while sending is paused, because it changes messages that another program may then own. */
  readonly pausable?: boolean;
  /** The longest wait after failures in a row, in ms (`startLoop`): for work that needs more than the database. */
  readonly maxRetryMs?: number;
  /**
   * Conditions by NOTIFY channel: each returns true if a payload wakes the task. The payload '' means that
   * notifications may have been missed.
   */
  readonly wakeOn?: Readonly<Record<string, (payload: string) => boolean>>;
  /** Wakes the task from within this process. */
  readonly signal?: Signal;
  /** Called when the worker begins to stop: shortens the run in progress. */
  readonly interrupt?: () => Promise<void>;
  /** Called when no run is in progress any longer, in the reverse order of the tasks. */
  readonly close?: () => Promise<void>;
};

/** A condition for `wakeOn`: every payload wakes the task. */
export const always = (): boolean => true;

/**
 * Creates a `work` that runs again immediately after a run that found something to do, and otherwise after `idleMs`.
 */
export const untilIdle = (work: () => Promise<number | boolean>, idleMs: number) => async (): Promise<number> =>
  Number(await work()) > 0 ? 0 : idleMs;

/** Creates a `work` that runs every `everyMs`. */
export const every = (everyMs: number, work: () => Promise<unknown>) => async (): Promise<number> => {
  await work();
  return everyMs;
};

/**
 * Creates a `work` for rows with a due time. It queries the next due time when woken and at least every `pollMs` (for
 * rows that a dead process left behind), and works when one is due. An idle poll costs one simple query.
 */
export const whenDue =
  (work: () => Promise<number>, nextMs: () => Promise<number | null>, pollMs: number) => async (): Promise<number> => {
    const dueInMs = (await nextMs()) ?? pollMs;
    if (dueInMs > 0) return Math.min(pollMs, Math.max(20, dueInMs));
    return (await work()) > 0 ? 0 : 20;
  };
