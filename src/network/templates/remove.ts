import { deleteTemplate } from '../../carriers/whatsapp/templates.ts';
import { recordAudit } from '../../identity/audit/record.ts';
import type { Db } from '../../platform/db/query.ts';
import type { Actor } from '../../platform/lib/actor.ts';
import { callNetworkOrThrow, type ChangeDeps } from './network.ts';
import { findOwnTemplate } from './find.ts';
import * as db from './sql.ts';
import type { TemplateChannel } from './template.ts';

/**
 * Deletes a template of the account, in the caller's transaction; a WhatsApp template is deleted at the network first.
 * Errors: 404; 403 for a shared template; 400; 502.
 */
export async function removeTemplate(
  deps: ChangeDeps,
  tx: Db,
  actor: Actor,
  { channel, id }: { channel: TemplateChannel; id: string },
): Promise<void> {
  const { connectionId, name, status } = await findOwnTemplate(tx, actor, channel, id);
  if (connectionId !== null && status !== 'DELETED') {
    await db.claimTemplateChange(tx, { connectionId });
    await callNetworkOrThrow(deps, connectionId, (client) => deleteTemplate(client, { name, id }));
  }
  await db.deleteTemplate(tx, { accountId: actor.accountId, channel, id });
  await deps.onTemplatesChange(tx, [{ channel, id }]);
  await recordAudit(tx, actor, { action: 'template.delete', subject: `template:${id}`, detail: { channel, name } });
}
