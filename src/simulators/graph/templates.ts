import { getList, getMember, getText } from '../../carriers/json.ts';
import { type Answer, type Fault, faultAnswer, unknownObject, ok } from './answer.ts';
import type { Events } from './events.ts';
import type { LedgerWriter } from './ledger.ts';
import type { GraphScript } from './script.ts';
import { componentsFault, draftFault } from './template-draft.ts';
import { parameterFault } from './template-parameters.ts';

/** A template of the simulated business account. */
export type SandboxTemplate = {
  readonly id: string;
  readonly name: string;
  readonly language: string;
  readonly category: string;
  readonly parameterFormat: string;
  readonly components: readonly unknown[];
  readonly status: string;
  /** GREEN, YELLOW, RED or UNKNOWN. */
  readonly quality: string;
};

/** The templates of the business account; see `createTemplates`. */
export type Templates = {
  /** Returns all templates in order of creation. */
  all(): readonly SandboxTemplate[];
  /**
   * Adds an existing template: with its own `id` and `status` if the draft has them, else approved. Returns false when
   * there is already one of that name and language, or with that id.
   */
  seed(draft: unknown): boolean;
  /**
   * Simulates a decision of the network: changes the status of a template and notifies the client. Returns false when
   * the template does not exist.
   */
  move(id: string, event: string, details?: { readonly reason?: string; readonly title?: string }): boolean;
  /** Simulates a new rating of a template, and notifies the client. Returns false when the template does not exist. */
  rate(id: string, quality: string): boolean;
  list(query: URLSearchParams): Answer;
  create(body: unknown): Answer;
  /** Edits a template; returns null when it does not exist. */
  edit(id: string, body: unknown): Answer | null;
  /** Returns null when the template does not exist. */
  show(id: string): Answer | null;
  remove(query: URLSearchParams): Answer;
  /** Validates the `template` object of a message; returns a fault, or the template's category. */
  check(content: unknown): Fault | { readonly category: string };
  stop(): void;
};

/** Dependencies of the templates. */
export type TemplateDeps = {
  readonly script: GraphScript;
  readonly ledger: LedgerWriter;
  readonly events: Events;
  /** Returns true if a handle belongs to an uploaded sample. */
  readonly isSample: (handle: string) => boolean;
};

const MAX_TEMPLATES = 250;
const FIRST_ID = 900_000_000_000_000;
const EDITABLE = ['APPROVED', 'REJECTED', 'PAUSED'];
/** The status after an event that has a different name. */
const STATUS_AFTER: ReadonlyMap<string, string> = new Map([['REINSTATED', 'APPROVED']]);
/** Events that are only warnings. */
const WARNINGS = ['FLAGGED', 'LOCKED'];

/** Creates the templates of the business account, with their approval (Cloud API, message templates). */
export function createTemplates({ script, ledger, events, isSample }: TemplateDeps): Templates {
  const templates = new Map<string, SandboxTemplate>();
  const decisions = new Set<NodeJS.Timeout>();
  let nextId = FIRST_ID;

  const find = (name: string, language: string): SandboxTemplate | undefined =>
    [...templates.values()].find((one) => one.name === name && one.language === language);

  function add(body: unknown, status: string, id = String(nextId)): SandboxTemplate {
    nextId = Math.max(nextId, Number(id)) + 1;
    const [name, language] = [getText(body, 'name'), getText(body, 'language')];
    const parameterFormat = getText(body, 'parameter_format') || 'POSITIONAL';
    const [category, components] = [getText(body, 'category'), getList(body, 'components')];
    const template = { id, name, language, category, parameterFormat, components, status, quality: 'UNKNOWN' };
    templates.set(id, template);
    return template;
  }

  function seed(draft: unknown): boolean {
    const id = getText(draft, 'id');
    if (templates.has(id) || find(getText(draft, 'name'), getText(draft, 'language'))) return false;
    const template = add(draft, getText(draft, 'status') || 'APPROVED', id || undefined);
    if (template.status === 'PENDING') scheduleDecision(template);
    return true;
  }

  function scheduleDecision({ id, name }: SandboxTemplate): void {
    const timer = setTimeout(() => {
      decisions.delete(timer);
      if (name.includes('reject')) move(id, 'REJECTED', { reason: 'INCORRECT_CATEGORY' });
      else move(id, 'APPROVED');
    }, script.approveAfterMs);
    decisions.add(timer);
  }

  function move(id: string, event: string, details: { reason?: string; title?: string } = {}): boolean {
    const template = templates.get(id);
    if (!template) return false;
    if (event === 'DELETED') templates.delete(id);
    else if (!WARNINGS.includes(event)) templates.set(id, { ...template, status: STATUS_AFTER.get(event) ?? event });
    events.publish({
      entry: ledger.recordEvent({ kind: 'template', id, what: event }),
      field: 'message_template_status_update',
      value: changeOf(template, event, details),
    });
    return true;
  }

  function rate(id: string, quality: string): boolean {
    const template = templates.get(id);
    if (!template) return false;
    templates.set(id, { ...template, quality });
    events.publish({
      entry: ledger.recordEvent({ kind: 'template', id, what: quality }),
      field: 'message_template_quality_update',
      value: {
        previous_quality_score: template.quality,
        new_quality_score: quality,
        message_template_id: Number(id),
        message_template_name: template.name,
        message_template_language: template.language,
      },
    });
    return true;
  }

  function create(body: unknown): Answer {
    const fault = draftFault(body, isSample) ?? capacityFault(body);
    if (fault) return faultAnswer(fault);
    const template = add(body, 'PENDING');
    scheduleDecision(template);
    return ok({ id: template.id, status: template.status, category: template.category });
  }

  function capacityFault(body: unknown): Fault | null {
    if (templates.size >= MAX_TEMPLATES) return { code: 2388019, details: `at most ${MAX_TEMPLATES} templates` };
    const taken = find(getText(body, 'name'), getText(body, 'language'));
    return taken ? { code: 100, details: 'There is already content in this language for this template' } : null;
  }

  function edit(id: string, body: unknown): Answer | null {
    const template = templates.get(id);
    if (!template) return null;
    const category = getText(body, 'category') || template.category;
    const components = getMember(body, 'components') === undefined ? template.components : getList(body, 'components');
    const fault = EDITABLE.includes(template.status)
      ? componentsFault(components, { category, isSample })
      : { code: 100, details: `a template that is ${template.status} cannot be edited` };
    if (fault) return faultAnswer(fault);
    const edited = { ...template, category, components, status: 'PENDING' };
    templates.set(id, edited);
    scheduleDecision(edited);
    return ok({ success: true });
  }

  function remove(query: URLSearchParams): Answer {
    const [name, id] = [query.get('name') ?? '', query.get('hsm_id')];
    const removed = [...templates.values()].filter((one) => one.name === name && (id === null || one.id === id));
    if (removed.length === 0) return unknownObject(id ?? name);
    for (const template of removed) templates.delete(template.id);
    return ok({ success: true });
  }

  function check(content: unknown): Fault | { category: string } {
    const [name, language] = [getText(content, 'name'), getText(getMember(content, 'language'), 'code')];
    if (name === '' || language === '') return { code: 131008, details: 'template: name and language.code' };
    const template = find(name, language);
    if (template?.status === 'PAUSED') return { code: 132015, details: `${name} is paused` };
    if (template?.status === 'DISABLED') return { code: 132016, details: `${name} is disabled` };
    if (template?.status !== 'APPROVED') return { code: 132001, details: `${name} does not exist in ${language}` };
    return parameterFault(template, getList(content, 'components')) ?? { category: template.category.toLowerCase() };
  }

  return {
    all: () => [...templates.values()],
    seed,
    move,
    rate,
    list: (query) => listPage([...templates.values()], query),
    create,
    edit,
    show(id) {
      const template = templates.get(id);
      return template ? ok(toNetwork(template)) : null;
    },
    remove,
    check,
    stop: () => decisions.forEach((timer) => clearTimeout(timer)),
  };
}

const toNetwork = ({ parameterFormat, status, quality, ...template }: SandboxTemplate): object => ({
  ...template,
  status,
  parameter_format: parameterFormat,
  rejected_reason: status === 'REJECTED' ? 'INCORRECT_CATEGORY' : 'NONE',
  quality_score: { score: quality },
});

/** A page begins after the template that the cursor `after` names, which is an encoded id. */
function listPage(all: readonly SandboxTemplate[], query: URLSearchParams): Answer {
  const limit = Math.max(1, Math.min(Number(query.get('limit') ?? 25) || 25, 1000));
  const [name, status] = [query.get('name'), query.get('status')];
  const after = Buffer.from(query.get('after') ?? '', 'base64url').toString();
  const matching = all.filter((one) => (name ?? one.name) === one.name && (status ?? one.status) === one.status);
  const rest = matching.slice(matching.findIndex(({ id }) => id === after) + 1);
  const page = rest.slice(0, limit);
  const cursor = (one: SandboxTemplate | undefined): string => Buffer.from(one?.id ?? '').toString('base64url');
  const cursors = { before: cursor(page[0]), after: cursor(page.at(-1)) };
  const next = rest.length > page.length ? { next: `https://graph.facebook.com/next?after=${cursors.after}` } : {};
  return ok({ data: page.map(toNetwork), ...(page.length > 0 ? { paging: { cursors, ...next } } : {}) });
}

function changeOf(
  { id, name, language, category }: SandboxTemplate,
  event: string,
  { reason = 'NONE', title }: { readonly reason?: string; readonly title?: string },
): object {
  return {
    event,
    message_template_id: Number(id),
    message_template_name: name,
    message_template_language: language,
    message_template_category: category,
    reason,
    ...(title === undefined ? {} : { other_info: { title, description: 'Sent by the simulator.' } }),
    ...(event === 'REJECTED' ? { rejection_info: { reason, recommendation: 'Choose another category.' } } : {}),
  };
}
