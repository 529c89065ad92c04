import { recordAudit } from '../accounts/audit.ts';
import { createTemplate, deleteTemplate, editTemplate } from '../channels/whatsapp/templates.ts';
import type { Actor } from '../core/actor.ts';
import type { RichChannel } from '../core/channels.ts';
import type { Db } from '../core/db/query.ts';
import { AppError, type FieldError, invalidFields } from '../core/errors.ts';
import { newId } from '../core/ids.ts';
import { findUsableSender } from '../routing/senders.ts';
import { fieldsInComponents, findComponentFaults } from './components.ts';
import { componentsOf, mediaOf, placeholdersOf, type SentComponents, variablesFor } from './content.ts';
import {
  filesOfBody,
  findBodyErrors,
  type RcsTemplateIn,
  toContentMessage,
  type WhatsappTemplateIn,
  WhatsappTemplatePatch,
} from './schema.ts';
import * as db from './store.ts';
import { findOwnTemplate, findUsableTemplate, type Template } from './store.ts';
import { type ChangeDeps, callNetworkOrThrow, type SampleDeps, withSample } from './sync.ts';

/** Maximum number of RCS templates of an account. */
export const MAX_RCS_TEMPLATES = 1000;

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
  const named = input.parameterFormat === 'NAMED';
  const variables = variablesOf({ content: input.components, named }, input);
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
    campaignComponents: input.campaignComponents ?? null,
    named,
  });
  return found(await db.findUsableTemplate(tx, { accountId, channel: 'WHATSAPP', id: made.id }));
}

/** Fields of a template for campaigns: null removes components. */
type ForCampaigns = {
  readonly variables?: readonly string[] | undefined;
  readonly campaignComponents?: SentComponents | null | undefined;
};

/** Returns the contact fields that campaigns fill in. Errors: 400 naming the variables, or the place in the components. */
function variablesOf(shape: Pick<db.Template, 'content' | 'named'>, given: ForCampaigns): readonly string[] {
  const { variables, campaignComponents } = given;
  if (!campaignComponents) return variablesFor({ channel: 'WHATSAPP', content: shape.content }, variables);
  const faults = findComponentFaults(shape, campaignComponents, 'campaignComponents');
  const both = { field: 'variables', message: 'must not be given together with campaignComponents' };
  refuse(variables === undefined ? faults : [both, ...faults]);
  return fieldsInComponents(campaignComponents);
}

function refuse(faults: readonly FieldError[]): void {
  if (faults.length > 0) throw invalidFields(faults);
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
  // Other content, or other values for campaigns: what was stored for campaigns may not fit any more.
  const campaignComponents =
    patch.variables || components ? (patch.campaignComponents ?? null) : patch.campaignComponents;
  const variables =
    patch.variables || components || campaignComponents !== undefined
      ? variablesOf({ content, named: template.named }, { variables: patch.variables, campaignComponents })
      : undefined;
  const status = (await updateAtNetwork(deps, tx, template, patch)) ? 'PENDING' : undefined;
  const changes = { content: components, category, status, variables, campaignComponents, headerLink };
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

/**
 * Deletes a template of the account, in the caller's transaction; a WhatsApp template is deleted at the network first.
 * Errors: 404; 403 for a shared template; 400; 502.
 */
export async function removeTemplate(
  deps: ChangeDeps,
  tx: Db,
  actor: Actor,
  { channel, id }: { channel: RichChannel; id: string },
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

/** Intended use of a template in a campaign. */
type TemplateUse = {
  readonly accountId: number;
  readonly channel: RichChannel;
  readonly templateId: string;
  /** The agent id or phone number id that sends it; null skips the check of the sender. */
  readonly sender: string | null;
  /** The names of the contact fields that variables may use. */
  readonly fields: ReadonlySet<string>;
};

/**
 * Checks that a campaign may send this template: returns one sentence per problem, and none when it may. A template of
 * another account is reported as one that does not exist.
 */
export async function checkTemplate(db: Db, use: TemplateUse): Promise<string[]> {
  const { accountId, channel, templateId } = use;
  const template = await findUsableTemplate(db, { accountId, channel, id: templateId });
  if (!template) return [`there is no template ${templateId}`];
  return [
    ...statusProblems(template),
    ...(await senderProblems(db, use, template)),
    ...variableProblems(template, use.fields),
    ...headerProblems(template),
  ];
}

const statusProblems = ({ name, status, reason }: Template): string[] =>
  status === 'APPROVED'
    ? []
    : [`the template ${name} is ${status}${reason === null ? '' : ` (${reason})`}, not APPROVED`];

/** Checks the sender: a template of one business account cannot be sent by a number of another. */
async function senderProblems(
  db: Db,
  { accountId, channel, sender }: TemplateUse,
  template: Template,
): Promise<string[]> {
  if (channel !== 'WHATSAPP' || sender === null) return [];
  const usable = await findUsableSender(db, { accountId, channel, identity: sender });
  return usable && usable.connectionId !== template.connectionId
    ? ['the template does not belong to the business account of this phone number']
    : [];
}

function variableProblems(template: Template, fields: ReadonlySet<string>): string[] {
  const placeholders = placeholdersOf(template);
  if (template.campaignComponents) {
    // The network may have changed the template since.
    const unfit = findComponentFaults(template, template.campaignComponents, 'campaignComponents');
    if (unfit.length > 0) return unfit.map(({ field, message }) => `${field} of the template: ${message}`);
  } else if (template.variables.length !== placeholders.length)
    return [
      `the template has ${placeholders.length} placeholders (${placeholders.map((p) => p.label).join(', ')}) and ` +
        `${template.variables.length} variables: set its variables to one contact field for each`,
    ];
  const unknown = template.variables.filter((entry) => !fields.has(fieldOf(entry)));
  return unknown.map((entry) => `the template's variable ${entry} is not a contact field`);
}

/** Returns the field of an entry: `firstName|friend` is the field firstName. */
const fieldOf = (entry: string): string => entry.split('|', 1)[0]?.trim() ?? '';

function headerProblems(template: Template): string[] {
  if (template.channel !== 'WHATSAPP' || template.campaignComponents) return [];
  const media = mediaOf(template);
  if (media !== null && template.headerLink === null)
    return [`the template's header shows a ${media}: set its headerLink to the URL of one`];
  const header = componentsOf(template.content).find(({ type }) => type === 'HEADER');
  return header?.format === 'LOCATION' ? ['the template has a location in its header: set its campaignComponents'] : [];
}
