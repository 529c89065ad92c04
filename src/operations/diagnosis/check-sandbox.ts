import type { Pool } from 'pg';
import { countRealConnections } from '../../network/connections/sql.ts';
import type { Config } from '../../platform/config.ts';
import { describeOpen } from '../../simulators/sandbox/retire.ts';
import { isInUse, listOpenMessages } from '../../simulators/sandbox/sql.ts';
import type { Finding } from './finding.ts';

/**
 * Checks that the sandbox, next to real carriers, either runs because the operator wants it, or is retired and has no
 * messages left. Returns nothing if it has nothing to do with real carriers, or is retired completely.
 */
export async function checkSandbox({ sandbox }: Pick<Config, 'sandbox'>, pool: Pool): Promise<Finding[]> {
  if ((await countRealConnections(pool)) === 0) return [];
  if (await isInUse(pool))
    return sandbox === 'on' ? [] : [{ name: 'sandbox', ok: true, detail: 'not retired yet: see `sandbox retire`' }];
  const left = (await listOpenMessages(pool)).filter(({ retired }) => retired);
  if (left.length === 0) return [];
  return [
    {
      name: 'sandbox',
      ok: false,
      detail: `retired, but messages are open there: ${describeOpen(left)}`,
      advice: '`sandbox retire --end-messages` ends them, `sandbox restore` and a restart let the sandbox take them.',
    },
  ];
}
