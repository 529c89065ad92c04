import { recordAudit } from '../audit/record.ts';
import type { Db } from '../db/query.ts';
import type { Actor } from '../http/actor.ts';
import type { AgentIn } from './schema.ts';
import { insertRequestedSender, type Sender } from './sql.ts';

/**
 * Asks for an RCS agent, in the caller's transaction: the operator registers it with the network and gives it its id
 * (`sender register`). Until then it can send nothing.
 */
export async function requestAgent(tx: Db, actor: Actor, { displayName, ...details }: AgentIn): Promise<Sender> {
  const { accountId } = actor;
  const agent = await insertRequestedSender(tx, { accountId, channel: 'RCS', name: displayName, details });
  await recordAudit(tx, actor, { action: 'agent.request', subject: `agent:${agent.id}`, detail: { displayName } });
  return agent;
}
