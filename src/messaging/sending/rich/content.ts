import type { Db } from '../../../platform/db/query.ts';
import { type FieldError, invalidFields } from '../../../platform/errors.ts';
import { faultsOfFiles, type WantedFile } from '../../../media/find-for-send.ts';
import { findUsableSender } from '../../../network/senders/sql.ts';
import { composeContent, composeText, readable } from '../../../network/templates/compose.ts';
import { fillTemplate, type Given } from '../../../network/templates/fill.ts';
import { filesOfBody as filesOfRcsBody, toContentMessage } from '../../../network/templates/rcs-body.ts';
import { findUsableTemplate, findUsableTemplateByName, type Template } from '../../../network/templates/sql.ts';
import type { WholeContent } from '../../../network/templates/content.ts';
import { refuseFaults } from '../read-send.ts';
import type { RcsContent, WhatsappSendIn } from './schema.ts';
import { filesOfBody, textOfBody, toWhatsappContent } from './whatsapp-body.ts';

type Account = { readonly accountId: number };

/** What goes out, and what people read of it. */
export type Composed = { readonly content: WholeContent; readonly body: string };

/** What it would say, and why it may not be sent like this. */
export type CheckedContent = { readonly said: Composed; readonly faults: readonly FieldError[] };

type Whatsapp = {
  readonly phoneNumberId: string;
  readonly template?: WhatsappSendIn['template'] | undefined;
  readonly body?: WhatsappSendIn['body'] | undefined;
};

/** What a WhatsApp send says. Errors: 400; a template of another account reads as one that there is not. */
export const composeWhatsapp = async (db: Db, account: Account, input: Whatsapp): Promise<Composed> =>
  withoutFaults(await checkWhatsapp(db, account, input));

/** The same for RCS. `path` is where it stands in the request: empty, or ending in a dot. */
export const composeRcs = async (db: Db, account: Account, input: RcsContent, path = ''): Promise<Composed> =>
  withoutFaults(await checkRcs(db, account, input, path));

function withoutFaults({ said, faults }: CheckedContent): Composed {
  refuseFaults(faults);
  return said;
}

/** As `composeWhatsapp`, for a template with its faults beside it. Errors: 400 when there is nothing to show. */
export async function checkWhatsapp(db: Db, account: Account, input: Whatsapp): Promise<CheckedContent> {
  const { template = {}, body } = input;
  if (body) {
    const files = filesOfBody(body);
    const content = { ...toWhatsappContent(body), ...naming(files) };
    return { said: { content, body: textOfBody(body) }, faults: await faultsOfFiles(db, account, files) };
  }
  return fill(await findWhatsappTemplate(db, account, input), template, 'template', 'template.');
}

/** The same for RCS. */
export async function checkRcs(db: Db, { accountId }: Account, input: RcsContent, path = ''): Promise<CheckedContent> {
  const { templateId = '', body, variables } = input;
  if (body) {
    const files = filesOfRcsBody(body, `${path}body`);
    const message = toContentMessage(body);
    const said = { content: { channel: 'RCS', message, ...naming(files) }, body: readable(message) } as const;
    return { said, faults: await faultsOfFiles(db, { accountId }, files) };
  }
  const field = `${path}templateId`;
  const template = orUnknown(await findUsableTemplate(db, { accountId, channel: 'RCS', id: templateId }), field);
  return fill(template, { variables }, field, path);
}

const naming = (files: readonly WantedFile[]) => (files.length > 0 ? { files: files.map(({ id }) => id) } : {});

async function findWhatsappTemplate(db: Db, { accountId }: Account, input: Whatsapp): Promise<Template> {
  const { id, name, language } = input.template ?? {};
  const sender = await findUsableSender(db, { accountId, channel: 'WHATSAPP', identity: input.phoneNumberId });
  if (!sender) throw invalidFields([{ field: 'phoneNumberId', message: 'the account has no such number' }]);
  const { connectionId } = sender;
  if (id === undefined) {
    if (name === undefined || language === undefined)
      throw invalidFields([{ field: 'template.id', message: 'is required, or name and language' }]);
    return orUnknown(await findUsableTemplateByName(db, { accountId, connectionId, name, language }), 'template');
  }
  const template = orUnknown(await findUsableTemplate(db, { accountId, channel: 'WHATSAPP', id }), 'template');
  if (template.connectionId !== connectionId)
    throw invalidFields([{ field: 'template', message: 'is not of the business account of this phone number' }]);
  return template;
}

function orUnknown(template: Template | undefined, field: string): Template {
  if (!template) throw invalidFields([{ field, message: 'there is no such template' }]);
  return template;
}

type Values = { variables?: Given | undefined; headerLink?: string | undefined };

/** @param path where its values stand */
function fill(template: Template, given: Values, field: string, path: string): CheckedContent {
  const { values, faults } = fillTemplate(template, given);
  const filling = { values, headerLink: given.headerLink };
  const said = { content: composeContent(template, filling), body: composeText(template, filling) };
  const unfit = statusFaults(template, field);
  if (unfit.length > 0) return { said, faults: unfit };
  return { said, faults: faults.map((fault) => ({ ...fault, field: fault.field.replace(/^template\./, path) })) };
}

function statusFaults({ status, reason }: Template, field: string): FieldError[] {
  if (status === 'APPROVED') return [];
  const why = reason === null ? '' : ` (${reason})`;
  return [{ field, message: `the template is ${status}${why}, not APPROVED` }];
}
