import type { Content } from '../../carriers/content.ts';
import type { Db } from '../../db/query.ts';
import { type FieldError, invalidFields } from '../../errors.ts';
import { findUsableSender } from '../../senders/sql.ts';
import { composeContent, composeText, readable } from '../../templates/compose.ts';
import { fillTemplate, type Given } from '../../templates/fill.ts';
import { toContentMessage } from '../../templates/rcs-body.ts';
import { findUsableTemplate, findUsableTemplateByName, type Template } from '../../templates/sql.ts';
import { refuseFaults } from '../read-send.ts';
import type { RcsContent, WhatsappSendIn } from './schema.ts';
import { textOfBody, toWhatsappContent } from './whatsapp-body.ts';

type Account = { readonly accountId: number };

/** What goes out, and what people read of it. */
export type Said = { readonly content: Content; readonly body: string };

/** What a WhatsApp send says. Errors: 400; a template of another account reads as one that there is not. */
export async function sayWhatsapp(db: Db, account: Account, input: WhatsappSendIn): Promise<Said> {
  const { template = {}, body } = input;
  if (body) return { content: toWhatsappContent(body), body: textOfBody(body) };
  return fill(await findWhatsappTemplate(db, account, input), template, 'template', 'template.');
}

/** The same for RCS. `path` is where it stands in the request: empty, or ending in a dot. */
export async function sayRcs(db: Db, { accountId }: Account, input: RcsContent, path = ''): Promise<Said> {
  const { templateId = '', body, variables } = input;
  if (body) {
    const message = toContentMessage(body);
    return { content: { channel: 'RCS', message }, body: readable(message) };
  }
  const field = `${path}templateId`;
  const template = orUnknown(await findUsableTemplate(db, { accountId, channel: 'RCS', id: templateId }), field);
  return fill(template, { variables }, field, path);
}

async function findWhatsappTemplate(db: Db, { accountId }: Account, input: WhatsappSendIn): Promise<Template> {
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
function fill(template: Template, given: Values, field: string, path: string): Said {
  const { status, reason } = template;
  if (status !== 'APPROVED') {
    const why = reason === null ? '' : ` (${reason})`;
    throw invalidFields([{ field, message: `the template is ${status}${why}, not APPROVED` }]);
  }
  const { values, faults } = fillTemplate(template, given);
  refuseFaults(faults.map((fault): FieldError => ({ ...fault, field: fault.field.replace(/^template\./, path) })));
  const filling = { values, headerLink: given.headerLink };
  return { content: composeContent(template, filling), body: composeText(template, filling) };
}
