import type { Db } from '../../platform/db/query.ts';
import { findUsableSender } from '../senders/sql.ts';
import { mediaOf } from './compose.ts';
import { componentsOf, placeholdersOf } from './placeholders.ts';
import { findUsableTemplate, type Template } from './sql.ts';
import type { TemplateChannel } from './template.ts';

/** Intended use of a template in a campaign. */
export type TemplateUse = {
  readonly accountId: number;
  readonly channel: TemplateChannel;
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
  if (template.variables.length !== placeholders.length)
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
  if (template.channel !== 'WHATSAPP') return [];
  const media = mediaOf(template);
  if (media !== null && template.headerLink === null)
    return [`the template's header shows a ${media}: set its headerLink to the URL of one`];
  const header = componentsOf(template.content).find(({ type }) => type === 'HEADER');
  return header?.format === 'LOCATION'
    ? ['the template has a location in its header, which campaigns cannot fill']
    : [];
}
