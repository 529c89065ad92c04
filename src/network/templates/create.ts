import { createTemplate } from '../../carriers/whatsapp/templates.ts';
import { recordAudit } from '../../identity/audit/record.ts';
import type { Db } from '../../platform/db/query.ts';
import { AppError, invalidFields } from '../../platform/errors.ts';
import type { Actor } from '../../platform/lib/actor.ts';
import { newId } from '../../platform/lib/ids.ts';
import { findUsableSender } from '../senders/sql.ts';
import { callNetworkOrThrow } from './network.ts';
import { type SampleDeps, withSample } from './sample.ts';
import { findBodyErrors, filesOfBody, toContentMessage } from './rcs-body.ts';
import type { RcsTemplateIn, WhatsappTemplateIn } from './schema.ts';
import * as db from './sql.ts';
import { variablesFor } from './variables.ts';

/** Limit per account. */
const MAX_RCS_TEMPLATES = 1000;

/**
 * Submits a WhatsApp template for approval and stores it, in the caller's transaction, which stays open while the
 * network is asked. Errors: 400 naming the field, or with the network's own text; 502.
 */
export async function createWhatsappTemplate(
  deps: SampleDeps,
  tx: Db,
  actor: Actor,
  input: WhatsappTemplateIn,
): Promise<db.Template> {
  const { accountId } = actor;
  const sender = await findUsableSender(tx, { accountId, channel: 'WHATSAPP', identity: input.phoneNumberId });
  if (!sender) throw invalidFields([{ field: 'phoneNumberId', message: 'the account has no such number' }]);
  const { connectionId } = sender;
  const variables = variablesFor({ channel: 'WHATSAPP', content: input.components }, input.variables);
  await db.claimTemplateChange(tx, { connectionId });
  const sampled = { accountId, connectionId, components: input.components, mediaId: input.headerMediaId };
  const components = await withSample(deps, tx, sampled);
  const made = await callNetworkOrThrow(deps, connectionId, (client) =>
    createTemplate(client, { ...draftOf(input), components }),
  );
  await store(tx, actor, {
    channel: 'WHATSAPP',
    id: made.id,
    ownerId: accountId,
    connectionId,
    variables,
    name: input.name,
    language: input.language,
    category: made.category,
    content: input.components,
    status: made.status ?? 'PENDING',
    headerLink: input.headerLink ?? null,
    named: input.parameterFormat === 'NAMED',
  });
  return found(await db.findUsableTemplate(tx, { accountId, channel: 'WHATSAPP', id: made.id }));
}

const draftOf = (input: WhatsappTemplateIn) => ({
  name: input.name,
  language: input.language,
  category: input.category,
  ...(input.parameterFormat !== undefined && { parameterFormat: input.parameterFormat }),
  ...(input.allowCategoryChange !== undefined && { allowCategoryChange: input.allowCategoryChange }),
  ...(input.messageSendTtlSeconds !== undefined && { ttlSeconds: input.messageSendTtlSeconds }),
});

/** Stores an RCS template, in the caller's transaction. Errors: 400 naming the fields; 409 beyond 1,000. */
export async function createRcsTemplate(tx: Db, actor: Actor, input: RcsTemplateIn): Promise<db.Template> {
  const { accountId } = actor;
  const own = filesOfBody(input.body).map(({ field }) => ({ field, message: 'a template must name its files by url' }));
  const faults = [...findBodyErrors(input.body), ...own];
  if (faults.length > 0) throw invalidFields(faults);
  const content = toContentMessage(input.body);
  const variables = variablesFor({ channel: 'RCS', content }, input.variables);
  if ((await db.countOwnTemplates(tx, { accountId, channel: 'RCS' })) >= MAX_RCS_TEMPLATES)
    throw new AppError('conflict', { message: `An account can have at most ${MAX_RCS_TEMPLATES} RCS templates` });
  const id = newId();
  await store(tx, actor, {
    channel: 'RCS',
    id,
    ownerId: accountId,
    connectionId: null,
    name: input.name,
    language: '',
    category: '',
    status: 'APPROVED',
    content,
    headerLink: null,
    trafficType: input.trafficType ?? null,
    named: true,
    variables,
  });
  return found(await db.findUsableTemplate(tx, { accountId, channel: 'RCS', id }));
}

async function store(tx: Db, actor: Actor, template: db.NewTemplate): Promise<void> {
  await db.insertTemplate(tx, template);
  const { channel, id, name } = template;
  await recordAudit(tx, actor, { action: 'template.create', subject: `template:${id}`, detail: { channel, name } });
}

function found(template: db.Template | undefined): db.Template {
  if (!template)
    throw new AppError('conflict', { message: 'The network gave this template an id that is already in use' });
  return template;
}
