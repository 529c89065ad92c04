import type { Db } from '../../platform/db/query.ts';
import { AppError } from '../../platform/errors.ts';
import type { Actor } from '../../platform/http/actor.ts';
import { findUsableTemplate, type Template } from './sql.ts';
import type { TemplateChannel } from './template.ts';

/** A template that the account may change. Errors: 404; 403 for one that every account may use. */
export async function findOwn(
  db: Db,
  { accountId }: Pick<Actor, 'accountId'>,
  channel: TemplateChannel,
  id: string,
): Promise<Template> {
  const template = await findUsableTemplate(db, { accountId, channel, id });
  if (!template) throw new AppError('not_found');
  if (template.ownerId === null)
    throw new AppError('forbidden', { message: 'Every account may use this template: only the operator changes it' });
  return template;
}
