import type { Pool } from 'pg';
import { Type } from 'typebox';
import { exec, sql } from '../core/db/query.ts';
import { tenant } from '../core/db/transaction.ts';
import { AppError } from '../core/errors.ts';
import { type App, type PlatformDeps, withExamples } from '../core/http/app.ts';
import { requireScope } from '../core/http/auth.ts';
import { ChatId } from './schema.ts';
import { findEndpoints } from './store.ts';

/** The NOTIFY channel for the presence of users in conversations; the payload is a `Sighting` as JSON. */
export const PRESENCE_CHANNEL = 'heliograph_presence';

const ACTIVITIES = ['LOOKING', 'TYPING', 'LEFT'] as const;
/** Activity of a user in a conversation. */
type Activity = (typeof ACTIVITIES)[number];

export type Sighting = {
  readonly accountId: number;
  readonly chatId: string;
  readonly username: string;
  readonly activity: Activity;
};

type PresenceListener = (sighting: Sighting) => void;

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

const PresenceIn = Type.Object({ activity: Type.Enum([...ACTIVITIES], { type: 'string' }) });

/** Registers the route by which a user reports viewing a conversation or typing in it. */
export function presenceRoutes(app: App, { pool, presence }: PlatformDeps & { readonly presence: Presence }): void {
  app.put('/api/partner-gateway/v1/inbox/conversations/:chatId/presence', {
    onRequest: requireScope('inbox'),
    schema: {
      tags: ['Inbox'],
      operationId: 'reportPresence',
      summary: 'Report viewing/typing presence',
      description:
        'Their streams get the event `presence`. It is stored nowhere and counts for 25 seconds, so report it again ' +
        'every ten. Keys have no name, so what they report is not shown.',
      params: ChatId,
      body: withExamples(PresenceIn, { activity: 'TYPING' }),
      response: { 204: Type.Null({ description: 'Passed on' }) },
    },
    handler: async ({ actor, params: { chatId }, body: { activity } }) => {
      const { accountId, username, kind } = actor;
      if (!(await findEndpoints(tenant(pool, actor), { accountId, chatId }))) throw new AppError('not_found');
      if (username !== null && kind !== 'key') await presence.report({ accountId, chatId, username, activity });
    },
  });
}
