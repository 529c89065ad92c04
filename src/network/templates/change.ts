import { editTemplate } from '../../carriers/whatsapp/templates.ts';
import { recordAudit } from '../../identity/audit/record.ts';
import type { Db } from '../../platform/db/query.ts';
import { invalidFields } from '../../platform/errors.ts';
import type { Actor } from '../../platform/http/actor.ts';
import { askFor, type ChangeDeps } from './network.ts';
import { type SampleDeps, withSample } from './sample.ts';
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
  deps: SampleDeps & ChangeDeps,
  tx: Db,
  actor: Actor,
  id: string,
  patch: WhatsappTemplatePatch,
): Promise<void> {
  const template = await findOwn(tx, actor, 'WHATSAPP', id);
  const { components, category, headerLink } = patch;
  if (patch.headerMediaId !== undefined && !components)
    throw invalidFields([{ field: 'headerMediaId', message: 'goes with components' }]);
  const content = components ?? template.content;
  const variables =
    patch.variables || components ? variablesFor({ channel: 'WHATSAPP', content }, patch.variables) : undefined;
  const status = (await tellNetwork(deps, tx, template, patch)) ? 'PENDING' : undefined;
  const moved = { content: components, category, status, variables, headerLink };
  await db.moveTemplate(tx, { ...moved, accountId: actor.accountId, channel: 'WHATSAPP', id });
  await deps.onTemplatesChange(tx, [{ channel: 'WHATSAPP', id }]);
  const detail = { changed: FIELDS.filter((field) => field in patch) };
  await recordAudit(tx, actor, { action: 'template.update', subject: `template:${id}`, detail });
}

/** Whether anything of it concerns the network. */
async function tellNetwork(
  deps: SampleDeps,
  tx: Db,
  { id, ownerId, connectionId }: db.Template,
  patch: WhatsappTemplatePatch,
): Promise<boolean> {
  const { components, category, messageSendTtlSeconds: ttlSeconds, headerMediaId: mediaId } = patch;
  const told = components !== undefined || category !== undefined || ttlSeconds !== undefined;
  if (!told || connectionId === null || ownerId === null) return false;
  await db.claimMaking(tx, { connectionId });
  const forNetwork = {
    ...(components && {
      components: await withSample(deps, tx, { accountId: ownerId, connectionId, components, mediaId }),
    }),
    ...(category && { category }),
    ...(ttlSeconds !== undefined && { ttlSeconds }),
  };
  await askFor(deps, connectionId, (client) => editTemplate(client, id, forNetwork));
  return true;
}
