import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import type { FastifyBaseLogger, FastifyInstance } from 'fastify';
import type { Pool } from 'pg';
import type { Config } from '../config.ts';
import type { AppLog } from '../log.ts';
import type { Metrics } from '../metrics.ts';
import type { Clock } from '../lib/clock.ts';
import type { SecretKey } from '../lib/secret-box.ts';
import type { Receivers } from '../../network/connections/receivers.ts';
import type { StoreCallback } from '../../messaging/callbacks/store.ts';
import type { Hub } from '../../engagement/inbox/stream/hub.ts';
import type { Answers } from '../idempotency/answers.ts';
import type { Accept } from '../../messaging/sending/accept.ts';
import type { Tables } from '../../messaging/sending/prepare.ts';
import type { LinkSigner } from '../storage/signed-links.ts';
import type { Storage } from '../storage/storage.ts';
import type { Outlet } from '../outbound/outlet.ts';
import type { Authenticate, CheckPassword } from './actor.ts';

/** The server as features see it: what a route's TypeBox schema says is the type of its request and of its answer. */
export type App = FastifyInstance<Server, IncomingMessage, ServerResponse, FastifyBaseLogger, TypeBoxTypeProvider>;

/** One question that /health/ready asks. `detail` is public: no addresses, no secrets. */
export type Probe = {
  readonly name: string;
  /** A failure of a critical one makes the program unfit for requests (503); of another it is only told. */
  readonly critical: boolean;
  check(): Promise<{ readonly ok: boolean; readonly detail: string }>;
};

/** Everything that the routes stand on. A feature exports `xRoutes(app: App, deps: ApiDeps)`. */
export type ApiDeps = {
  readonly config: Config;
  readonly pool: Pool;
  readonly log: AppLog;
  readonly metrics: Metrics;
  readonly authenticate: Authenticate;
  readonly checkPassword: CheckPassword;
  readonly probes: readonly Probe[];
  readonly clock: Clock;
  readonly accept: Accept;
  /** Routes, prices and senders from memory, for what a message would meet. */
  readonly tables: Tables;
  readonly secretKey: SecretKey;
  /** For requests to receivers of webhooks. */
  readonly outlet: Outlet;
  readonly answers: Answers;
  /** The connections whose carriers post to us, and where what they post is kept. */
  readonly receivers: Receivers;
  readonly storeCallback: StoreCallback;
  /** Tells those who look on of changes of inboxes. */
  readonly inboxHub: Hub;
  /** Where files are kept, and the links that open them without credentials. */
  readonly storage: Storage;
  readonly links: LinkSigner;
};
