import type { Db } from '../../../platform/db/query.ts';
import { type FieldError, invalidFields } from '../../../platform/errors.ts';
import { findFileErrors, type WantedFile } from '../../../media/for-send.ts';
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

/** The content to be sent, and its readable text. */
export type Composed = { readonly content: WholeContent; readonly body: string };

/** The content that a message would have, and the errors that keep it from being sent. */
export type CheckedContent = { readonly composed: Composed; readonly faults: readonly FieldError[] };

type Whatsapp = {
  readonly phoneNumberId: string;
  readonly template?: WhatsappSendIn['template'] | undefined;
  readonly body?: WhatsappSendIn['body'] | undefined;
};

/** Composes the content of a WhatsApp send. Errors: 400; a template of another account is reported as unknown. */
export const composeWhatsapp = async (db: Db, account: Account, input: Whatsapp): Promise<Composed> =>
  withoutFaults(await checkWhatsapp(db, account, input));

/**
 * Composes the content of an RCS send. `path` is the place of the input in the request: empty, or ending in a dot.
 * Errors: 400; a template of another account is reported as unknown.
 */
export const composeRcs = async (db: Db, account: Account, input: RcsContent, path = ''): Promise<Composed> =>
  withoutFaults(await checkRcs(db, account, input, path));

function withoutFaults({ composed, faults }: CheckedContent): Composed {
  refuseFaults(faults);
  return composed;
}

/**
 * Composes the content of a WhatsApp send even if it has errors, and returns these. Errors: 400 when nothing can be
 * composed.
 */
export async function checkWhatsapp(db: Db, account: Account, input: Whatsapp): Promise<CheckedContent> {
  const { template = {}, body } = input;
  if (body) {
    const files = filesOfBody(body);
    const content = { ...toWhatsappContent(body), ...naming(files) };
    return { composed: { content, body: textOfBody(body) }, faults: await findFileErrors(db, account, files) };
  }
  return fill(await findWhatsappTemplate(db, account, input), template, 'template', 'template.');
}

/**
 * Composes the content of an RCS send even if it has errors, and returns these. `path` is the place of the input in the
 * request: empty, or ending in a dot. Errors: 400 when nothing can be composed.
 */
export async function checkRcs(db: Db, { accountId }: Account, input: RcsContent, path = ''): Promise<CheckedContent> {
  const { templateId = '', body, variables, trafficType } = input;
  const own = trafficType === undefined ? {} : { trafficType };
  if (body) {
    const files = filesOfRcsBody(body, `${path}body`);
    const message = toContentMessage(body);
    const content = { channel: 'RCS', message, ...own, ...naming(files) } as const;
    const composed = { content, body: readable(message) };
    return { composed, faults: await findFileErrors(db, { accountId }, files) };
  }
  const field = `${path}templateId`;
  const template = orUnknown(await findUsableTemplate(db, { accountId, channel: 'RCS', id: templateId }), field);
  return fill({ ...template, ...own }, { variables }, field, path);
}

const naming = (files: readonly WantedFile[]) => (files.length > 0 ? { files: files.map(({ id }) => id) } : {});

async function findWhatsappTemplate(db: Db, { accountId }: Account, input: Whatsapp): Promise<Template> {
  const { id, name, language } = input.template ?? {};
  const sender = await findUsableSender(db, { accountId, channel: 'WHATSAPP', identity: input.phoneNumberId });
  if (!sender) throw invalidFields([{ field: 'phoneNumberId', message: 'the account has no such number' }]);
  const { connectionId } = sender;
  if (id === undefined) {
    if (name === undefined || language === undefined)
      throw invalidFields([{ field: 'template.id', message: 'is required, unless name and language are given' }]);
    return orUnknown(await findUsableTemplateByName(db, { accountId, connectionId, name, language }), 'template');
  }
  const template = orUnknown(await findUsableTemplate(db, { accountId, channel: 'WHATSAPP', id }), 'template');
  if (template.connectionId !== connectionId)
    throw invalidFields([
      { field: 'template', message: 'does not belong to the business account of this phone number' },
    ]);
  return template;
}

function orUnknown(template: Template | undefined, field: string): Template {
  if (!template) throw invalidFields([{ field, message: 'there is no such template' }]);
  return template;
}

type Values = { variables?: Given | undefined; headerLink?: string | undefined };

/** @param path the place of the values in the request: empty, or ending in a dot */
function fill(template: Template, given: Values, field: string, path: string): CheckedContent {
  const { values, faults } = fillTemplate(template, given);
  const filling = { values, headerLink: given.headerLink };
  const composed = { content: composeContent(template, filling), body: composeText(template, filling) };
  const unfit = statusFaults(template, field);
  if (unfit.length > 0) return { composed, faults: unfit };
  return { composed, faults: faults.map((fault) => ({ ...fault, field: fault.field.replace(/^template\./, path) })) };
}

function statusFaults({ status, reason }: Template, field: string): FieldError[] {
  if (status === 'APPROVED') return [];
  const why = reason === null ? '' : ` (${reason})`;
  return [{ field, message: `the template is ${status}${why}, not APPROVED` }];
}
