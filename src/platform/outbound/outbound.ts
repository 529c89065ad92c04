import { readFile } from 'node:fs/promises';
import type { Config } from '../config.ts';
import { StartupError } from '../db/startup-error.ts';
import { createGuard, type Guard } from './guard.ts';
import { createPoster, type Poster } from './post.ts';

/** Safe outbound HTTP, one instance per process: `guard` decides what may be called, `poster` calls it. */
export type Outbound = { readonly guard: Guard; readonly poster: Poster };

/**
 * Creates it as configured by the WEBHOOK_ settings. Throws a StartupError when WEBHOOK_CA_FILE has no certificates.
 */
export async function createOutbound({ allowedBlocks, ports, caFile }: Config['webhooks']): Promise<Outbound> {
  const guard = createGuard({ allowedBlocks, ports });
  if (caFile === undefined) return { guard, poster: createPoster({ guard }) };
  try {
    return { guard, poster: createPoster({ guard, ca: await readFile(caFile, 'utf8') }) };
  } catch (error) {
    throw new StartupError(`WEBHOOK_CA_FILE ${caFile} is not a PEM file with certificates: ${String(error)}`);
  }
}
