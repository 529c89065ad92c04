import type { Db } from '../../platform/db/query.ts';
import { findUsableTemplate } from './sql.ts';
import type { TemplateChannel } from './template.ts';

/**
 * What a message of a campaign must hold values for: the distinct variables of a template, each a contact field with its
 * default behind a `|`, as between the braces of a campaign's text. Undefined when there is no such template for the
 * account.
 */
export async function listTemplateVariables(
  db: Db,
  { accountId, channel, templateId }: { accountId: number; channel: TemplateChannel; templateId: string },
): Promise<string[] | undefined> {
  const template = await findUsableTemplate(db, { accountId, channel, id: templateId });
  return template && [...new Set(template.variables)];
}
