import type { Config } from '../../config.ts';
import type { App } from '../app.ts';
import type { EndConnection } from '../client-error.ts';
import { boundBodies } from './bodies.ts';
import { boundChunks } from './chunks.ts';
import { boundConnections } from './connections.ts';
import type { Floods } from './pipelining.ts';
import type { Refusal } from './refusals.ts';
import { endSlowBodies } from './slow-bodies.ts';
import { guardDoors, limitFailures } from './strangers.ts';

type Options = {
  readonly config: Pick<Config, 'bounds'>;
  readonly count: (bound: Refusal) => void;
  readonly isTrusted: (address: string | undefined) => boolean;
  readonly end: EndConnection;
  readonly floods: Floods;
};

/**
 * Limits the resources that clients may hold, and the failures of unauthenticated clients. Call it after the hooks that
 * reject requests without reading them, and before the routes are registered.
 */
export function applyBounds(app: App, { config: { bounds }, count, isTrusted, end, floods }: Options): void {
  boundConnections(app.server, { bounds, isTrusted, count, floods });
  boundChunks(app.server, { end, count });
  const stop = endSlowBodies(app.server, { end, count });
  app.addHook('onClose', (_app, done) => {
    stop();
    done();
  });
  guardDoors(app);
  limitFailures(app, count);
  boundBodies(app, { bounds, end, count });
}
