import { getList, getMember, getText } from '../settings.ts';
import { readSuccess } from './account.ts';
import { callAndRead, type GraphClient, type GraphResult, type MediaUpload } from './client.ts';

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

type TemplateDraft = {
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
type CreatedTemplate = {
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

type TemplatePatch = {
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

/** The status of a template; only approved ones can be sent (Cloud API, message templates). */
type TemplateStatus =
  | 'PENDING'
  | 'APPROVED'
  | 'REJECTED'
  | 'PAUSED'
  | 'DISABLED'
  | 'IN_APPEAL'
  | 'PENDING_DELETION'
  | 'DELETED'
  | 'LIMIT_EXCEEDED'
  | 'ARCHIVED';

/**
 * Recipients' feedback on messages with a template; UNKNOWN while the network has not rated it (Cloud API, message
 * templates). Meta pauses a template that stays RED.
 */
type TemplateQuality = 'GREEN' | 'YELLOW' | 'RED' | 'UNKNOWN';

/** Returns the quality named by the network; UNKNOWN for anything else. */
export const templateQualityOf = (text: string): TemplateQuality =>
  text === 'GREEN' || text === 'YELLOW' || text === 'RED' ? text : 'UNKNOWN';

/** A change of one template that the network reports. */
export type TemplateChange = {
  readonly templateId: string;
  readonly name: string;
  readonly language: string;
  readonly event: string;
  /** The new status; null if it has not changed (a warning), or if the event is unknown. */
  readonly status: TemplateStatus | null;
  /** The new quality; null if the change is not about it. */
  readonly quality: TemplateQuality | null;
  readonly category: string | null;
  readonly reason: string | null;
};

const STATUS_AFTER: ReadonlyMap<string, TemplateStatus> = new Map([
  ['APPROVED', 'APPROVED'],
  ['REINSTATED', 'APPROVED'],
  ['UNPAUSED', 'APPROVED'],
  ['PENDING', 'PENDING'],
  ['REJECTED', 'REJECTED'],
  ['PAUSED', 'PAUSED'],
  ['DISABLED', 'DISABLED'],
  ['IN_APPEAL', 'IN_APPEAL'],
  ['PENDING_DELETION', 'PENDING_DELETION'],
  ['DELETED', 'DELETED'],
  ['LIMIT_EXCEEDED', 'LIMIT_EXCEEDED'],
  ['ARCHIVED', 'ARCHIVED'],
]);

/**
 * The status by the title of a pause. LOCKED alone only means that the template cannot be edited
 * (developers.facebook.com/documentation/business-messaging/whatsapp/webhooks/reference/message_template_status_update).
 */
const STATUS_BY_TITLE: ReadonlyMap<string, TemplateStatus> = new Map([
  ['FIRST_PAUSE', 'PAUSED'],
  ['SECOND_PAUSE', 'PAUSED'],
  ['RATE_LIMITING_PAUSE', 'PAUSED'],
  ['UNPAUSE', 'APPROVED'],
  ['DISABLED', 'DISABLED'],
]);

/** Returns the status that an event or status text of the network stands for; null if it is unknown. */
const templateStatusOf = (text: string): TemplateStatus | null => STATUS_AFTER.get(text) ?? null;

/** Reads the value of `message_template_status_update`; null if it names no template or no event. */
export function readTemplateChange(value: unknown): TemplateChange | null {
  const templateId = getText(value, 'message_template_id');
  const name = getText(value, 'message_template_name');
  const event = getText(value, 'event');
  if (event === '' || (templateId === '' && name === '')) return null;
  return {
    templateId,
    name,
    language: getText(value, 'message_template_language'),
    event,
    status: templateStatusOf(event) ?? STATUS_BY_TITLE.get(getText(getMember(value, 'other_info'), 'title')) ?? null,
    quality: null,
    category: getText(value, 'message_template_category') || null,
    reason: reasonIn(value),
  };
}

/** Reads the value of `message_template_quality_update`; null if it names no template or no quality. */
export function readQualityChange(value: unknown): TemplateChange | null {
  const templateId = getText(value, 'message_template_id');
  const name = getText(value, 'message_template_name');
  const event = getText(value, 'new_quality_score');
  if (event === '' || (templateId === '' && name === '')) return null;
  const language = getText(value, 'message_template_language');
  const quality = templateQualityOf(event);
  return { templateId, name, language, event, status: null, quality, category: null, reason: null };
}

function reasonIn(value: unknown): string | null {
  const rejection = getMember(value, 'rejection_info');
  const texts = [
    getText(value, 'reason').replace(/^NONE$/, ''),
    getText(getMember(value, 'other_info'), 'title'),
    getText(getMember(value, 'other_info'), 'description'),
    getText(rejection, 'reason'),
    getText(rejection, 'recommendation'),
  ];
  return (
    texts
      .filter((text) => text !== '')
      .join(' · ')
      .slice(0, 1000)
      .toWellFormed() || null
  );
}

const UPLOAD_MS = 30_000;

/**
 * Uploads the sample file that the network requires for a template with a media header, and returns the handle for the
 * header's example (Cloud API, message templates). The upload belongs to the app, not to a number, so it fails
 * without `appId` in the settings.
 */
export async function uploadSample(client: GraphClient, file: MediaUpload): Promise<GraphResult<string>> {
  const { appId } = client.settings;
  if (appId === undefined) return { ok: false, fault: NO_APP };
  const { bytes, mimeType, fileName } = file;
  const query = new URLSearchParams({ file_name: fileName, file_length: String(bytes.length), file_type: mimeType });
  const begun = await callAndRead(client, { method: 'POST', path: `/${appId}/uploads?${query}` }, readUploadId);
  if (!begun.ok) return begun;
  const raw = { bytes, contentType: mimeType, fileOffset: 0 };
  const request = { method: 'POST', path: `/${begun.value}`, raw, timeoutMs: UPLOAD_MS } as const;
  return callAndRead(client, request, (json) => getText(json, 'h') || undefined);
}

const NO_APP = {
  code: 'NO_APP',
  text: 'the operator has not set appId, which uploads of sample files need',
  status: null,
  retry: false,
};

/** The upload id becomes a path, and contains the network's own query. */
function readUploadId(json: unknown): string | undefined {
  const id = getText(json, 'id');
  return /^upload:[\x21-\x7e]{1,2000}$/.test(id) ? id : undefined;
}
