import { recordAudit } from '../../identity/audit/record.ts';
import type { Db } from '../../platform/db/query.ts';
import type { Actor } from '../../platform/lib/actor.ts';
import { AgentIn } from './schema.ts';
import { insertRequestedSender, type Sender } from './sql.ts';

const DETAILS = new Set(Object.keys(AgentIn.properties).filter((field) => field !== 'displayName'));

/**
 * Stores an account's request for an RCS agent, in the caller's transaction. The operator registers the agent with the
 * network and gives it its id (`sender register`); until then it cannot send.
 */
export async function requestAgent(tx: Db, actor: Actor, wanted: AgentIn): Promise<Sender> {
  const { accountId } = actor;
  const { displayName } = wanted;
  const details = Object.fromEntries(Object.entries(wanted).filter(([field]) => DETAILS.has(field)));
  const agent = await insertRequestedSender(tx, { accountId, channel: 'RCS', name: displayName, details });
  await recordAudit(tx, actor, { action: 'agent.request', subject: `agent:${agent.id}`, detail: { displayName } });
  return agent;
}
