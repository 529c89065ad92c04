import { editTemplate } from '../carriers/whatsapp/templates.ts';
import { lookAtTemplates } from '../campaigns/life/templates.ts';
import { recordAudit } from '../audit/record.ts';
import type { Db } from '../db/query.ts';
import type { Actor } from '../http/actor.ts';
import { askFor, type NetworkDeps } from './network.ts';
import { findOwn } from './own.ts';
import { WhatsappTemplatePatch } from './schema.ts';
import * as db from './sql.ts';
import { variablesFor } from './variables.ts';

const FIELDS = Object.keys(WhatsappTemplatePatch.properties);

/**
 * Changes a WhatsApp template of the account's own, in the caller's transaction: what concerns the network goes there
 * first, and to approval again. Errors: 404; 403 for a common one; 400; 502.
 */
export async function changeWhatsappTemplate(
  deps: NetworkDeps,
  tx: Db,
  actor: Actor,
  id: string,
  patch: WhatsappTemplatePatch,
): Promise<void> {
  const template = await findOwn(tx, actor, 'WHATSAPP', id);
  const { components, category, messageSendTtlSeconds: ttlSeconds, headerLink } = patch;
  const content = components ?? template.content;
  const variables =
    patch.variables || components ? variablesFor({ channel: 'WHATSAPP', content }, patch.variables) : undefined;
  const forNetwork = {
    ...(components && { components }),
    ...(category && { category }),
    ...(ttlSeconds !== undefined && { ttlSeconds }),
  };
  const told = Object.keys(forNetwork).length > 0 && template.connectionId !== null;
  if (told) {
    await db.claimMaking(tx, { connectionId: template.connectionId });
    await askFor(deps, template.connectionId, (client) => editTemplate(client, id, forNetwork));
  }
  const status = told ? 'PENDING' : undefined;
  const moved = { content: components, category, status, variables, headerLink };
  await db.moveTemplate(tx, { ...moved, accountId: actor.accountId, channel: 'WHATSAPP', id });
  await lookAtTemplates(tx, [{ channel: 'WHATSAPP', id }]);
  const detail = { changed: FIELDS.filter((field) => field in patch) };
  await recordAudit(tx, actor, { action: 'template.update', subject: `template:${id}`, detail });
}
