import { getList, getMember, getText } from '../json.ts';
import { readSuccess } from './account.ts';
import { callAndRead, type GraphClient, type GraphResult } from './client.ts';
import { type TemplateQuality, templateQualityOf, type TemplateStatus, templateStatusOf } from './template-changes.ts';

/** One template in one language, as the network lists it. */
export type NetworkTemplate = {
  readonly id: string;
  readonly name: string;
  readonly language: string;
  /** Null for an unknown status: the template must not be sent. */
  readonly status: TemplateStatus | null;
  readonly category: string;
  readonly quality: TemplateQuality;
  readonly parameterFormat: 'POSITIONAL' | 'NAMED';
  /** Components in the network's own format (Cloud API, message templates). */
  readonly components: readonly unknown[];
  readonly rejectedReason: string | null;
};

const FIELDS = 'id,name,language,status,category,components,quality_score,rejected_reason,parameter_format';
const PAGE_SIZE = 100;
/** The network allows an account 6,000 templates at most; a longer list is a loop. */
const MAX_PAGES = 100;

/** Lists all templates of the account, page by page; returns the fault of the first page that fails. */
export async function listTemplates(client: GraphClient): Promise<GraphResult<NetworkTemplate[]>> {
  const all: NetworkTemplate[] = [];
  let after = '';
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const query = new URLSearchParams({ fields: FIELDS, limit: String(PAGE_SIZE), ...(after === '' ? {} : { after }) });
    const result = await callAndRead(client, { method: 'GET', path: `${templatesPath(client)}?${query}` }, readPage);
    if (!result.ok) return result;
    all.push(...result.value.templates);
    if (result.value.after === null) break;
    ({ after } = result.value);
  }
  return { ok: true, value: all };
}

const templatesPath = ({ settings }: GraphClient): string => `/${settings.wabaId}/message_templates`;

function readPage(json: unknown): { templates: NetworkTemplate[]; after: string | null } | undefined {
  if (!Array.isArray(getMember(json, 'data'))) return undefined;
  const paging = getMember(json, 'paging');
  const after = getText(getMember(paging, 'cursors'), 'after');
  const more = getText(paging, 'next') !== '' && after !== '';
  return { templates: getList(json, 'data').flatMap((one) => readTemplate(one) ?? []), after: more ? after : null };
}

/** Returns null for an item without an id, a name or a language. */
function readTemplate(json: unknown): NetworkTemplate | null {
  const [id, name, language] = [getText(json, 'id'), getText(json, 'name'), getText(json, 'language')];
  if (id === '' || name === '' || language === '') return null;
  return {
    id,
    name,
    language,
    status: templateStatusOf(getText(json, 'status')),
    category: getText(json, 'category'),
    quality: templateQualityOf(getText(getMember(json, 'quality_score'), 'score')),
    parameterFormat: getText(json, 'parameter_format').toUpperCase() === 'NAMED' ? 'NAMED' : 'POSITIONAL',
    components: getList(json, 'components'),
    rejectedReason: getText(json, 'rejected_reason').replace(/^NONE$/, '') || null,
  };
}

/** A template to create. */
export type TemplateDraft = {
  readonly name: string;
  readonly language: string;
  readonly category: string;
  readonly parameterFormat?: 'POSITIONAL' | 'NAMED';
  readonly components: readonly object[];
  /** True if the network may change the category instead of rejecting the template. */
  readonly allowCategoryChange?: boolean;
  readonly ttlSeconds?: number;
};

/** The network's response to a new template. */
export type CreatedTemplate = {
  readonly id: string;
  readonly status: TemplateStatus | null;
  readonly category: string;
};

/** Submits a template for approval; it may be approved or rejected immediately. */
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
  return callAndRead(client, { method: 'POST', path: templatesPath(client), json }, (answer) => {
    const id = getText(answer, 'id');
    const status = templateStatusOf(getText(answer, 'status'));
    return id === '' ? undefined : { id, status, category: getText(answer, 'category') || category };
  });
}

/** The changes to a template. */
export type TemplatePatch = {
  readonly category?: string;
  readonly components?: readonly object[];
  readonly ttlSeconds?: number;
};

/** Changes a template, which then needs approval again. */
export function editTemplate(client: GraphClient, id: string, patch: TemplatePatch): Promise<GraphResult<true>> {
  const { ttlSeconds, ...rest } = patch;
  const json = { ...rest, ...(ttlSeconds === undefined ? {} : { message_send_ttl_seconds: ttlSeconds }) };
  return callAndRead(client, { method: 'POST', path: `/${encodeURIComponent(id)}`, json }, readSuccess);
}

/** Deletes the templates of a name: all languages, or only the one with the id. */
export function deleteTemplate(
  client: GraphClient,
  { name, id }: { readonly name: string; readonly id?: string },
): Promise<GraphResult<true>> {
  const query = new URLSearchParams({ name, ...(id === undefined ? {} : { hsm_id: id }) });
  return callAndRead(client, { method: 'DELETE', path: `${templatesPath(client)}?${query}` }, readSuccess);
}
