import { readFile } from 'node:fs/promises';
import type { Config } from '../config.ts';
import { StartupError } from '../db/startup-error.ts';
import { createGuard, type Guard } from './guard.ts';
import { createPoster, type Poster } from './post.ts';

/** The way out: what may be posted to, and what posts. One for each process. */
export type Outlet = { readonly guard: Guard; readonly poster: Poster };

/** As the operator has configured it. Throws StartupError when WEBHOOK_CA_FILE is no file with certificates. */
export async function openOutlet({ openBlocks, ports, caFile }: Config['webhooks']): Promise<Outlet> {
  const guard = createGuard({ openBlocks, ports });
  if (caFile === undefined) return { guard, poster: createPoster({ guard }) };
  try {
    return { guard, poster: createPoster({ guard, ca: await readFile(caFile, 'utf8') }) };
  } catch (error) {
    throw new StartupError(`WEBHOOK_CA_FILE ${caFile} is not a PEM file with certificates: ${String(error)}`);
  }
}
