import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import type { FastifyBaseLogger, FastifyInstance } from 'fastify';
import type { Pool } from 'pg';
import type { Config } from '../config.ts';
import type { Reports } from '../db/reports.ts';
import type { AnswerStore } from '../idempotency/answers.ts';
import type { Clock } from '../lib/clock.ts';
import type { SecretKey } from '../lib/secret-box.ts';
import type { AppLog } from '../log.ts';
import type { Metrics } from '../metrics.ts';
import type { LinkSigner } from '../storage/signed-links.ts';
import type { Storage } from '../storage/storage.ts';
import type { Authenticate, CheckPassword, SignInLimits } from '../lib/actor.ts';

/** The HTTP server as features see it: a route's TypeBox schemas are the types of its request and its response. */
export type App = FastifyInstance<Server, IncomingMessage, ServerResponse, FastifyBaseLogger, TypeBoxTypeProvider>;

/**
 * The dependencies that every route may use. Routes that need something from another room add it, as in
 * `PlatformDeps & { readonly accept: Accept }`; `app/deps.ts` assembles all of them.
 */
export type PlatformDeps = {
  readonly config: Config;
  readonly pool: Pool;
  readonly reports: Reports;
  readonly log: AppLog;
  readonly metrics: Metrics;
  readonly authenticate: Authenticate;
  readonly checkPassword: CheckPassword;
  readonly signInLimits: SignInLimits;
  readonly clock: Clock;
  readonly secretKey: SecretKey;
  /** The stored responses to requests with an Idempotency-Key. */
  readonly answers: AnswerStore;
  /** The store of uploaded and exported files. */
  readonly storage: Storage;
  /** Signs the links that open files without credentials. */
  readonly links: LinkSigner;
};
