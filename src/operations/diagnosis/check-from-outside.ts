import { readFile } from 'node:fs/promises';
import type { Config } from '../../platform/config.ts';
import { INSTALLATION_HEADER, installationOf } from '../../platform/installation.ts';
import type { SecretKey } from '../../platform/lib/secret-box.ts';
import { describeFault } from '../../platform/outbound/fault.ts';
import { createGuardedFetch } from '../../platform/outbound/fetch.ts';
import { createGuard } from '../../platform/outbound/guard.ts';
import type { Finding } from './finding.ts';

/** Needs no credentials, and is open at proxies that close /health and /metrics: the console asks it before a sign-in. */
const OPEN_PATH = '/api/partner-gateway/v1/session/options';

type Settings = Pick<Config, 'publicUrl' | 'webhooks'>;

const ADVICE =
  'Check the name, the proxy and the firewall in front of the program. From this machine, PUBLIC_URL must lead to ' +
  'the same place as for other clients; a private address is called when WEBHOOK_ALLOW_CIDRS allows it, and your ' +
  'own certificate is accepted when WEBHOOK_CA_FILE has its authority.';

/**
 * Calls PUBLIC_URL as clients do, by its public name and over HTTPS, and checks that this installation responds there:
 * the program itself, a process of it, or the proxy in front, but nothing else at this address. Private and loopback
 * addresses are denied unless WEBHOOK_ALLOW_CIDRS allows them. Settles within 5 s.
 */
export async function checkFromOutside(config: Settings, key: SecretKey): Promise<Finding> {
  const found = await call(config, installationOf(key));
  return { name: 'from outside', advice: ADVICE, ...found, detail: `${config.publicUrl} ${found.detail}` };
}

type Found = { readonly ok: boolean; readonly detail: string; readonly advice?: string };

async function call({ publicUrl, webhooks }: Settings, installation: string): Promise<Found> {
  const { protocol, port, href } = new URL(`${publicUrl}${OPEN_PATH}`);
  if (protocol !== 'https:')
    return {
      ok: false,
      detail: 'has no HTTPS',
      advice: 'Set PUBLIC_URL to the address that carriers and users reach.',
    };
  const ca = webhooks.caFile === undefined ? undefined : await readFile(webhooks.caFile, 'utf8').catch(() => null);
  if (ca === null)
    return {
      ok: false,
      detail: 'was not called',
      advice: `WEBHOOK_CA_FILE ${webhooks.caFile} cannot be read: correct it.`,
    };
  const guard = createGuard({ allowedBlocks: webhooks.allowedBlocks, ports: [Number(port || 443)] });
  try {
    const answer = await createGuardedFetch({ guard, ca })(href, { method: 'GET', headers: {} });
    return judge(answer, installation);
  } catch (error) {
    return { ok: false, detail: `cannot be reached: ${describeFault(error)}` };
  }
}

function judge({ status, headers }: Response, installation: string): Found {
  if (status !== 200) return { ok: false, detail: `returns HTTP status ${status}` };
  const theirs = headers.get(INSTALLATION_HEADER);
  if (theirs === installation) return { ok: true, detail: 'reaches this installation' };
  return {
    ok: false,
    detail: `reaches ${theirs === null ? 'another program' : 'an installation with another SECRET_KEY'}`,
  };
}
