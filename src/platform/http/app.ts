import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import type { FastifyBaseLogger, FastifyInstance } from 'fastify';
import type { Pool } from 'pg';
import type { Config } from '../config.ts';
import type { Answers } from '../idempotency/answers.ts';
import type { Clock } from '../lib/clock.ts';
import type { SecretKey } from '../lib/secret-box.ts';
import type { AppLog } from '../log.ts';
import type { Metrics } from '../metrics.ts';
import type { LinkSigner } from '../storage/signed-links.ts';
import type { Storage } from '../storage/storage.ts';
import type { Authenticate, CheckPassword } from './actor.ts';

/** The HTTP server as features see it: a route's TypeBox schemas are the types of its request and of its answer. */
export type App = FastifyInstance<Server, IncomingMessage, ServerResponse, FastifyBaseLogger, TypeBoxTypeProvider>;

/**
 * What every route may use. Routes that need something of a room declare it beside this, as
 * `PlatformDeps & { readonly accept: Accept }`; `app/deps.ts` puts all of it together.
 */
export type PlatformDeps = {
  readonly config: Config;
  readonly pool: Pool;
  readonly log: AppLog;
  readonly metrics: Metrics;
  readonly authenticate: Authenticate;
  readonly checkPassword: CheckPassword;
  readonly clock: Clock;
  readonly secretKey: SecretKey;
  /** Stored answers to requests with an Idempotency-Key. */
  readonly answers: Answers;
  /** Where files are kept. */
  readonly storage: Storage;
  /** Signs the links that open files without credentials. */
  readonly links: LinkSigner;
};
