import { readFile } from 'node:fs/promises';
import type { Config } from '../config.ts';
import { StartupError } from '../db/startup-error.ts';
import { createGuardedFetch, type GuardedFetch } from './fetch.ts';
import { createGuard, type Guard } from './guard.ts';
import { createPoster, type Poster } from './post.ts';
import { createResolve, createResolveTexts, type ResolveTexts } from './resolve.ts';

/**
 * Safe outbound traffic, one instance per process: `guard` decides which addresses may be called over HTTP, `poster`
 * posts events to it, and `fetchPicture` reads up to 1 MiB from it. Providers of single sign-on have other ports.
 */
export type Outbound = {
  readonly guard: Guard;
  readonly poster: Poster;
  readonly fetchPicture: GuardedFetch;
  readonly signOn: { readonly guard: Guard; readonly fetch: GuardedFetch };
  readonly resolveTexts: ResolveTexts;
};

const MAX_PICTURE_BYTES = 1024 * 1024;

/**
 * Creates the outbound clients from the WEBHOOK_ settings, SINGLE_SIGN_ON_PORTS and DNS_SERVERS. Throws a StartupError
 * if WEBHOOK_CA_FILE has no certificates.
 */
export async function createOutbound({
  webhooks: { allowedBlocks, ports, caFile },
  singleSignOnPorts,
  dnsServers: servers,
}: Pick<Config, 'webhooks' | 'singleSignOnPorts' | 'dnsServers'>): Promise<Outbound> {
  const resolve = createResolve({ servers });
  const guard = createGuard({ allowedBlocks, ports, resolve });
  const signOnGuard = createGuard({ allowedBlocks, ports: singleSignOnPorts, resolve });
  const trusting = (ca: string | undefined): Outbound => ({
    guard,
    poster: createPoster({ guard, ca }),
    fetchPicture: createGuardedFetch({ guard, ca, maxAnswerBytes: MAX_PICTURE_BYTES }),
    signOn: { guard: signOnGuard, fetch: createGuardedFetch({ guard: signOnGuard, ca }) },
    resolveTexts: createResolveTexts({ servers }),
  });
  if (caFile === undefined) return trusting(undefined);
  try {
    return trusting(await readFile(caFile, 'utf8'));
  } catch (error) {
    throw new StartupError(`WEBHOOK_CA_FILE ${caFile} is not a PEM file with certificates: ${String(error)}`);
  }
}
