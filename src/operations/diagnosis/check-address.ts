import type { Pool } from 'pg';
import { kindOf } from '../../network/connections/kinds/kinds.ts';
import { listConnections } from '../../network/connections/sql.ts';
import type { Config } from '../../platform/config.ts';
import { isLocalUrl } from '../../platform/lib/local-url.ts';
import type { Finding } from './finding.ts';

/**
 * Checks that PUBLIC_URL is not an address of this machine alone when carriers post their callbacks to it. Without such
 * a connection it is a trial's, which is not an error. Connections of the sandbox do not count: it runs on this
 * machine.
 */
export async function checkAddress({ publicUrl }: Pick<Config, 'publicUrl'>, pool: Pool): Promise<Finding> {
  if (!isLocalUrl(publicUrl)) return { name: 'address', ok: true, detail: publicUrl };
  const callers = (await listConnections(pool)).filter(
    ({ kind, sandbox, status }) => !sandbox && status === 'active' && kindOf({ kind }).callbacks,
  );
  return {
    name: 'address',
    ok: callers.length === 0,
    detail: `${publicUrl} can be reached only from this machine${callers.length === 0 ? '' : `, and callbacks are expected there: ${callers.map(({ name }) => name).join(', ')}`}`,
    advice: 'Set PUBLIC_URL to the address that carriers and users reach, then enter the callback URLs again.',
  };
}
