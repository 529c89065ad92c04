import type { Db } from '../../platform/db/query.ts';
import { AppError } from '../../platform/errors.ts';
import type { Actor } from '../../platform/lib/actor.ts';
import { findUsableTemplate, type Template } from './sql.ts';
import type { TemplateChannel } from './template.ts';

/** Returns a template that the account may change. Errors: 404; 403 for a shared template. */
export async function findOwnTemplate(
  db: Db,
  { accountId }: Pick<Actor, 'accountId'>,
  channel: TemplateChannel,
  id: string,
): Promise<Template> {
  const template = await findUsableTemplate(db, { accountId, channel, id });
  if (!template) throw new AppError('not_found');
  if (template.ownerId === null)
    throw new AppError('forbidden', {
      message: 'This template is shared by all accounts: only the operator can change it',
    });
  return template;
}

/**
 * Lists the distinct variables of a template, for which a campaign's message needs values: each is a contact field with
 * its default behind a `|`, as between the braces of a campaign's text. Undefined when the account has no such
 * template.
 */
export async function listTemplateVariables(
  db: Db,
  { accountId, channel, templateId }: { accountId: number; channel: TemplateChannel; templateId: string },
): Promise<string[] | undefined> {
  const template = await findUsableTemplate(db, { accountId, channel, id: templateId });
  return template && [...new Set(template.variables)];
}
