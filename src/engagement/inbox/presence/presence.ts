import type { Pool } from 'pg';
import { exec, sql } from '../../../platform/db/query.ts';

/** The NOTIFY channel for the presence of users in conversations; the payload is a `Sighting` as JSON. */
export const PRESENCE_CHANNEL = 'heliograph_presence';

export const ACTIVITIES = ['LOOKING', 'TYPING', 'LEFT'] as const;
/** Activity of a user in a conversation. */
export type Activity = (typeof ACTIVITIES)[number];

export type Sighting = {
  readonly accountId: number;
  readonly chatId: string;
  readonly username: string;
  readonly activity: Activity;
};

export type PresenceListener = (sighting: Sighting) => void;

export type Presence = {
  /**
   * Sends a user's activity to every process. Nothing is stored: a client that connects later learns of it with the
   * next report.
   */
  report(sighting: Sighting): Promise<void>;
  /** Passes on a notification from `PRESENCE_CHANNEL`. */
  hear(payload: string): void;
  /** Passes the sightings of an account to a listener, until the returned function is called. */
  listen(accountId: number, listener: PresenceListener): () => void;
};

/**
 * Creates the presence of this process: users viewing a conversation or typing in it, for the live views of colleagues.
 */
export function createPresence(pool: Pool): Presence {
  const listeners = new Map<number, Set<PresenceListener>>();
  return {
    async report(sighting) {
      await exec(pool, sql`SELECT pg_notify(${PRESENCE_CHANNEL}, ${JSON.stringify(sighting)})`);
    },
    hear(payload) {
      // Notifications may have been missed; the next reports come within seconds.
      if (payload === '') return;
      const sighting = JSON.parse(payload) as Sighting;
      for (const listener of listeners.get(sighting.accountId) ?? []) listener(sighting);
    },
    listen(accountId, listener) {
      const own = listeners.get(accountId) ?? new Set();
      listeners.set(accountId, own.add(listener));
      return () => {
        own.delete(listener);
        if (own.size === 0 && listeners.get(accountId) === own) listeners.delete(accountId);
      };
    },
  };
}
