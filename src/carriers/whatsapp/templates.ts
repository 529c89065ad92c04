import { listIn, memberOf, wordsIn } from '../json.ts';
import { ask, type GraphClient, type GraphResult } from './client.ts';
import { type TemplateStatus, templateStatusOf } from './template-changes.ts';

/** One template in one language. */
export type NetworkTemplate = {
  readonly id: string;
  readonly name: string;
  readonly language: string;
  /** Null for a word that nobody knows: not to be sent. */
  readonly status: TemplateStatus | null;
  readonly category: string;
  readonly parameterFormat: 'POSITIONAL' | 'NAMED';
  /** As the network keeps them (protocol sheet whatsapp, section 4). */
  readonly components: readonly unknown[];
  readonly rejectedReason: string | null;
};

const FIELDS = 'id,name,language,status,category,components,rejected_reason,parameter_format';
const PAGE = 100;
/** The network lets an account have 6,000 at most; what goes on for longer repeats itself. */
const MOST_PAGES = 100;

/** All templates of the account, page by page. The first page that fails is the answer. */
export async function listTemplates(client: GraphClient): Promise<GraphResult<NetworkTemplate[]>> {
  const all: NetworkTemplate[] = [];
  let after = '';
  for (let page = 0; page < MOST_PAGES; page += 1) {
    const query = new URLSearchParams({ fields: FIELDS, limit: String(PAGE), ...(after === '' ? {} : { after }) });
    const result = await ask(client, { method: 'GET', path: `${pathOf(client)}?${query}` }, readPage);
    if (!result.ok) return result;
    all.push(...result.value.templates);
    if (result.value.after === null) break;
    ({ after } = result.value);
  }
  return { ok: true, value: all };
}

const pathOf = ({ settings }: GraphClient): string => `/${settings.wabaId}/message_templates`;

function readPage(json: unknown): { templates: NetworkTemplate[]; after: string | null } | undefined {
  if (!Array.isArray(memberOf(json, 'data'))) return undefined;
  const paging = memberOf(json, 'paging');
  const after = wordsIn(memberOf(paging, 'cursors'), 'after');
  const more = wordsIn(paging, 'next') !== '' && after !== '';
  return { templates: listIn(json, 'data').flatMap((one) => readTemplate(one) ?? []), after: more ? after : null };
}

/** Null for what has no id, name or language. */
function readTemplate(json: unknown): NetworkTemplate | null {
  const [id, name, language] = [wordsIn(json, 'id'), wordsIn(json, 'name'), wordsIn(json, 'language')];
  if (id === '' || name === '' || language === '') return null;
  return {
    id,
    name,
    language,
    status: templateStatusOf(wordsIn(json, 'status')),
    category: wordsIn(json, 'category'),
    parameterFormat: wordsIn(json, 'parameter_format').toUpperCase() === 'NAMED' ? 'NAMED' : 'POSITIONAL',
    components: listIn(json, 'components'),
    rejectedReason: wordsIn(json, 'rejected_reason').replace(/^NONE$/, '') || null,
  };
}

export type TemplateDraft = {
  readonly name: string;
  readonly language: string;
  readonly category: string;
  readonly parameterFormat?: 'POSITIONAL' | 'NAMED';
  readonly components: readonly object[];
  /** Whether the network may put it into another category in place of rejecting it. */
  readonly allowCategoryChange?: boolean;
  readonly ttlSeconds?: number;
};

export type CreatedTemplate = {
  readonly id: string;
  readonly status: TemplateStatus | null;
  readonly category: string;
};

/** Sends a template for approval; it may be approved or rejected at once. */
export function createTemplate(client: GraphClient, draft: TemplateDraft): Promise<GraphResult<CreatedTemplate>> {
  const { name, language, category, parameterFormat, components, allowCategoryChange, ttlSeconds } = draft;
  const json = {
    name,
    language,
    category,
    components,
    ...(parameterFormat === undefined ? {} : { parameter_format: parameterFormat }),
    ...(allowCategoryChange === undefined ? {} : { allow_category_change: allowCategoryChange }),
    ...(ttlSeconds === undefined ? {} : { message_send_ttl_seconds: ttlSeconds }),
  };
  return ask(client, { method: 'POST', path: pathOf(client), json }, (answer) => {
    const id = wordsIn(answer, 'id');
    const status = templateStatusOf(wordsIn(answer, 'status'));
    return id === '' ? undefined : { id, status, category: wordsIn(answer, 'category') || category };
  });
}

export type TemplatePatch = {
  readonly category?: string;
  readonly components?: readonly object[];
  readonly ttlSeconds?: number;
};

/** Changes a template, which goes to approval again. */
export function editTemplate(client: GraphClient, id: string, patch: TemplatePatch): Promise<GraphResult<true>> {
  const { ttlSeconds, ...rest } = patch;
  const json = { ...rest, ...(ttlSeconds === undefined ? {} : { message_send_ttl_seconds: ttlSeconds }) };
  return ask(client, { method: 'POST', path: `/${encodeURIComponent(id)}`, json }, readSuccess);
}

/** Deletes the template of that name: in every language, or only the one with the id. */
export function deleteTemplate(
  client: GraphClient,
  { name, id }: { readonly name: string; readonly id?: string },
): Promise<GraphResult<true>> {
  const query = new URLSearchParams({ name, ...(id === undefined ? {} : { hsm_id: id }) });
  return ask(client, { method: 'DELETE', path: `${pathOf(client)}?${query}` }, readSuccess);
}

const readSuccess = (json: unknown): true | undefined => (memberOf(json, 'success') === true ? true : undefined);

export type PhoneNumber = {
  readonly id: string;
  /** As people see it, with spaces and dashes. */
  readonly displayNumber: string;
  readonly verifiedName: string;
  /** GREEN, YELLOW, RED or UNKNOWN. */
  readonly quality: string;
};

/** The numbers of the account (protocol sheet whatsapp, section 5). */
export function listPhoneNumbers(client: GraphClient): Promise<GraphResult<PhoneNumber[]>> {
  const query = 'fields=id,display_phone_number,verified_name,quality_rating&limit=100';
  return ask(client, { method: 'GET', path: `/${client.settings.wabaId}/phone_numbers?${query}` }, (json) =>
    Array.isArray(memberOf(json, 'data')) ? listIn(json, 'data').flatMap(readNumber) : undefined,
  );
}

function readNumber(json: unknown): PhoneNumber[] {
  const id = wordsIn(json, 'id');
  const [displayNumber, verifiedName] = [wordsIn(json, 'display_phone_number'), wordsIn(json, 'verified_name')];
  return id === '' ? [] : [{ id, displayNumber, verifiedName, quality: wordsIn(json, 'quality_rating') || 'UNKNOWN' }];
}
