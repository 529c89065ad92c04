import { editTemplate } from '../../carriers/whatsapp/templates.ts';
import { recordAudit } from '../../identity/audit/record.ts';
import type { Db } from '../../platform/db/query.ts';
import { invalidFields } from '../../platform/errors.ts';
import type { Actor } from '../../platform/lib/actor.ts';
import { callNetworkOrThrow, type ChangeDeps } from './network.ts';
import { type SampleDeps, withSample } from './sample.ts';
import { findOwnTemplate } from './find.ts';
import { WhatsappTemplatePatch } from './schema.ts';
import * as db from './sql.ts';
import { variablesFor } from './variables.ts';

const FIELDS = Object.keys(WhatsappTemplatePatch.properties);

/**
 * Changes a WhatsApp template of the account, in the caller's transaction. Changes relevant to the network are
 * submitted to it first, for a new approval. Errors: 404; 403 for a shared template; 400; 502.
 */
export async function changeWhatsappTemplate(
  deps: SampleDeps & ChangeDeps,
  tx: Db,
  actor: Actor,
  id: string,
  patch: WhatsappTemplatePatch,
): Promise<void> {
  const template = await findOwnTemplate(tx, actor, 'WHATSAPP', id);
  const { components, category, headerLink } = patch;
  if (patch.headerMediaId !== undefined && !components)
    throw invalidFields([{ field: 'headerMediaId', message: 'requires components' }]);
  const content = components ?? template.content;
  const variables =
    patch.variables || components ? variablesFor({ channel: 'WHATSAPP', content }, patch.variables) : undefined;
  const status = (await updateAtNetwork(deps, tx, template, patch)) ? 'PENDING' : undefined;
  const changes = { content: components, category, status, variables, headerLink };
  await db.updateTemplate(tx, { ...changes, accountId: actor.accountId, channel: 'WHATSAPP', id });
  await deps.onTemplatesChange(tx, [{ channel: 'WHATSAPP', id }]);
  const detail = { changed: FIELDS.filter((field) => field in patch) };
  await recordAudit(tx, actor, { action: 'template.update', subject: `template:${id}`, detail });
}

/** Submits the parts of the patch that are relevant to the network; returns true if there were any. */
async function updateAtNetwork(
  deps: SampleDeps,
  tx: Db,
  { id, ownerId, connectionId }: db.Template,
  patch: WhatsappTemplatePatch,
): Promise<boolean> {
  const { components, category, messageSendTtlSeconds: ttlSeconds, headerMediaId: mediaId } = patch;
  const concernsNetwork = components !== undefined || category !== undefined || ttlSeconds !== undefined;
  if (!concernsNetwork || connectionId === null || ownerId === null) return false;
  await db.claimTemplateChange(tx, { connectionId });
  const forNetwork = {
    ...(components && {
      components: await withSample(deps, tx, { accountId: ownerId, connectionId, components, mediaId }),
    }),
    ...(category && { category }),
    ...(ttlSeconds !== undefined && { ttlSeconds }),
  };
  await callNetworkOrThrow(deps, connectionId, (client) => editTemplate(client, id, forNetwork));
  return true;
}
