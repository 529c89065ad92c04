import type { Signal } from './signal.ts';

/** Work that a worker does in the background, again and again and never twice at a time. */
export type Task = {
  readonly name: string;
  /** One run. Answers the wait until the next in ms; 0 goes on at once. */
  readonly work: () => Promise<number>;
  /** Does not run while sending is paused: it would change messages that may not be this program's to change. */
  readonly pausable?: boolean;
  /** By NOTIFY channel: whether a payload wakes the task. '' is heard when notifications may have been missed. */
  readonly wakeOn?: Readonly<Record<string, (payload: string) => boolean>>;
  /** Wakes the task from within this process. */
  readonly signal?: Signal;
  /** Called when the worker begins to stop: shortens the run under way. */
  readonly interrupt?: () => Promise<void>;
  /** Called when no run is under way any more, in the reverse order of the tasks. */
  readonly close?: () => Promise<void>;
};

/** For `wakeOn`: every payload wakes the task. */
export const always = (): boolean => true;

/** Runs again at once after a run that found something to do, and after `idleMs` otherwise. */
export const untilIdle =
  (work: () => Promise<number | boolean>, idleMs: number) => async (): Promise<number> =>
    Number(await work()) > 0 ? 0 : idleMs;

/** Runs every `everyMs`. */
export const every = (everyMs: number, work: () => Promise<unknown>) => async (): Promise<number> => {
  await work();
  return everyMs;
};

/**
 * For rows with a due time: looks for the next one when woken, and at least every `pollMs`, for those that a dead process
 * left behind; works when one is due. An idle look costs one plain query.
 */
export const whenDue =
  (work: () => Promise<number>, nextMs: () => Promise<number | null>, pollMs: number) => async (): Promise<number> => {
    const dueInMs = (await nextMs()) ?? pollMs;
    if (dueInMs > 0) return Math.min(pollMs, Math.max(20, dueInMs));
    return (await work()) > 0 ? 0 : 20;
  };
