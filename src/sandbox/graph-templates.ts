import { getList, getMember, getText } from '../channels/settings.ts';
import type { Events } from './graph-events.ts';
import {
  type Answer,
  type Fault,
  faultAnswer,
  type GraphScript,
  type LedgerWriter,
  ok,
  unknownObject,
} from './graph-script.ts';

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

type TemplateDeps = {
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

const CATEGORIES = ['MARKETING', 'UTILITY', 'AUTHENTICATION'];
const FORMATS = ['TEXT', 'IMAGE', 'VIDEO', 'DOCUMENT', 'LOCATION'];
const LIMITS: Readonly<Record<string, number>> = { HEADER: 60, BODY: 1024, FOOTER: 60 };
const MAX_BUTTON_LENGTH = 25;
const MAX_BUTTONS = 10;
/** The limits per template; other types are limited only by the total. */
const MAX_BUTTONS_OF_TYPE: Readonly<Record<string, number>> = { URL: 2, PHONE_NUMBER: 1, COPY_CODE: 1 };

const wrong = (details: string): Fault => ({ code: 100, details });

type IsSample = (handle: string) => boolean;
type Rules = { readonly category: string; readonly isSample: IsSample };

/** Validates a new template (Cloud API, message templates); null when it may go to approval. */
function draftFault(body: unknown, isSample: IsSample): Fault | null {
  if (!/^[a-z0-9_]{1,512}$/.test(getText(body, 'name'))) return wrong('name: 1 to 512 of a-z, 0-9 and _');
  if (!/^[a-z]{2,3}(_[A-Z]{2,4})?$/.test(getText(body, 'language'))) return wrong('language: such as pt_PT');
  if (!CATEGORIES.includes(getText(body, 'category'))) return wrong(`category: one of ${CATEGORIES.join(', ')}`);
  return componentsFault(getList(body, 'components'), { category: getText(body, 'category'), isSample });
}

/** Validates only the components, for templates that are edited; null when they are valid. */
function componentsFault(components: readonly unknown[], rules: Rules): Fault | null {
  const types = components.map((component) => getText(component, 'type').toUpperCase());
  const odd = types.find((type) => !['HEADER', 'BODY', 'FOOTER', 'BUTTONS'].includes(type));
  if (odd !== undefined) return wrong(`components: type ${odd || 'missing'}`);
  if (new Set(types).size !== types.length) return wrong('components: each type once');
  if (!types.includes('BODY')) return wrong('components: BODY is missing');
  for (const [index, component] of components.entries()) {
    const fault = componentFault(types[index] ?? '', component, rules);
    if (fault) return fault;
  }
  return null;
}

function componentFault(type: string, component: unknown, { category, isSample }: Rules): Fault | null {
  if (type === 'BUTTONS') return buttonsFault(getList(component, 'buttons'));
  const format = getText(component, 'format');
  if (type === 'HEADER' && !FORMATS.includes(format)) return { code: 2388047, details: 'HEADER: format' };
  if (type === 'HEADER' && format !== 'TEXT') return format === 'LOCATION' ? null : sampleFault(component, isSample);
  // The network itself writes the text of one-time passwords.
  return category === 'AUTHENTICATION' ? null : textFault(type, getText(component, 'text'));
}

/** The network requires an example of the files that will be sent. */
function sampleFault(component: unknown, isSample: IsSample): Fault | null {
  const [handle] = getList(getMember(component, 'example'), 'header_handle');
  const known = typeof handle === 'string' && isSample(handle);
  return known ? null : { code: 2388047, details: 'HEADER: example.header_handle of an uploaded sample' };
}

function textFault(type: string, text: string): Fault | null {
  const variables = variablesIn(text);
  if (text === '') return { code: type === 'BODY' ? 2388072 : 2388073, details: `${type}: text` };
  if (text.length > (LIMITS[type] ?? 0)) return { code: 2388040, details: `${type}: at most ${LIMITS[type]}` };
  if (type === 'FOOTER') return variables.length > 0 ? { code: 2388073, details: 'FOOTER: no variables' } : null;
  if (type === 'HEADER') return variables.length > 1 ? { code: 2388047, details: 'HEADER: at most 1 variable' } : null;
  if (/^\s*\{\{|\}\}\s*$/.test(text)) return { code: 2388299, details: 'BODY: must not begin or end with a variable' };
  return /\}\}\s*\{\{/.test(text)
    ? { code: 2388072, details: 'BODY: variables must not be adjacent' }
    : sequenceFault(variables);
}

/** Positions are 1, 2, 3 …; a text has either positions or names. */
function sequenceFault(variables: readonly string[]): Fault | null {
  const positions = variables.filter((name) => /^\d+$/.test(name));
  const inOrder = positions.every((name, index) => Number(name) === index + 1);
  const pure = positions.length === 0 || positions.length === variables.length;
  return inOrder && pure
    ? null
    : { code: 2388072, details: 'BODY: variables must be {{1}}, {{2}} … or all have names' };
}

function buttonsFault(buttons: readonly unknown[]): Fault | null {
  if (buttons.length === 0 || buttons.length > MAX_BUTTONS) return wrong(`BUTTONS: 1 to ${MAX_BUTTONS}`);
  const types = buttons.map((button) => getText(button, 'type'));
  for (const [type, most] of Object.entries(MAX_BUTTONS_OF_TYPE)) {
    if (types.filter((one) => one === type).length > most) return wrong(`BUTTONS: at most ${most} of ${type}`);
  }
  const long = buttons.find((button) => getText(button, 'text').length > MAX_BUTTON_LENGTH);
  return long === undefined ? null : { code: 2388040, details: `BUTTONS: text of at most ${MAX_BUTTON_LENGTH}` };
}

/** The fields of a template that decide which values a message needs; `components` as they were created. */
type TemplateShape = {
  readonly category: string;
  readonly parameterFormat: string;
  readonly components: readonly unknown[];
};

const MAX_BODY_LENGTH = 1024;
const MAX_CODE_LENGTH = 15;

const count = (details: string): Fault => ({ code: 132000, details });
const format = (details: string): Fault => ({ code: 132012, details });

/** Returns the variables in a text of a template, each once, in order. */
const variablesIn = (text: string): string[] => [
  ...new Set([...text.matchAll(/\{\{\s*(\w+)\s*\}\}/g)].map(([, name = '']) => name)),
];

/**
 * Validates the values of a message against its template (Cloud API, messages); null when they fit.
 */
function parameterFault(template: TemplateShape, sent: readonly unknown[]): Fault | null {
  const known = new Set(['header', 'body', 'button', 'carousel', 'limited_time_offer', 'order_status']);
  const stray = sent.find((component) => !known.has(typeOf(component)));
  if (stray !== undefined) return { code: 131009, details: `component type ${typeOf(stray) || 'missing'}` };
  return (
    headerFault(template, parametersOf(sent, 'header')) ??
    bodyFault(template, parametersOf(sent, 'body')) ??
    buttonParametersFault(template, sent) ??
    offerFault(template, sent) ??
    carouselFault(template, sent)
  );
}

const typeOf = (component: unknown): string => getText(component, 'type').toLowerCase();

const parametersOf = (sent: readonly unknown[], type: string): readonly unknown[] =>
  getList(
    sent.find((component) => typeOf(component) === type),
    'parameters',
  );

const componentOf = (template: TemplateShape, type: string): unknown =>
  template.components.find((component) => getText(component, 'type').toUpperCase() === type);

function headerFault(template: TemplateShape, parameters: readonly unknown[]): Fault | null {
  const header = componentOf(template, 'HEADER');
  const kind = getText(header, 'format').toLowerCase();
  if (kind === '' || kind === 'text') return textsFault(template, 'header', getText(header, 'text'), parameters);
  const [only] = parameters;
  if (parameters.length !== 1 || getText(only, 'type') !== kind) return format(`header: one parameter of type ${kind}`);
  const value = getMember(only, kind);
  if (kind === 'location') {
    const latitude = getText(value, 'latitude') || getMember(value, 'latitude');
    return latitude !== undefined && Number.isFinite(Number(latitude)) ? null : format('header: latitude');
  }
  return getText(value, 'id') === '' && getText(value, 'link') === '' ? format(`header: ${kind} id or link`) : null;
}

function bodyFault(template: TemplateShape, parameters: readonly unknown[]): Fault | null {
  const text = isAuthentication(template) ? '{{1}}' : getText(componentOf(template, 'BODY'), 'text');
  const fault = textsFault(template, 'body', text, parameters);
  if (fault) return fault;
  const length = parameters.reduce<number>((sum, parameter) => sum + textOf(parameter).length, text.length);
  return length > MAX_BODY_LENGTH ? { code: 132005, details: `body: more than ${MAX_BODY_LENGTH} characters` } : null;
}

function offerFault(template: TemplateShape, sent: readonly unknown[]): Fault | null {
  const offer = getMember(componentOf(template, 'LIMITED_TIME_OFFER'), 'limited_time_offer');
  if (getMember(offer, 'has_expiration') !== true) return null;
  const [only] = parametersOf(sent, 'limited_time_offer');
  const ends = getMember(getMember(only, 'limited_time_offer'), 'expiration_time_ms');
  return typeof ends === 'number' ? null : format('limited_time_offer: expiration_time_ms');
}

/** Each card is checked like a template, in its place. */
function carouselFault(template: TemplateShape, sent: readonly unknown[]): Fault | null {
  const cards = getList(componentOf(template, 'CAROUSEL'), 'cards');
  const given = getList(
    sent.find((component) => typeOf(component) === 'carousel'),
    'cards',
  );
  if (given.length > cards.length || (cards.length > 0 && given.length === 0)) return count('carousel: cards');
  for (const [index, card] of given.entries()) {
    if (numberIn(card, 'card_index') !== index) return format(`carousel: card_index ${index}`);
    const shape = { ...template, components: getList(cards[index], 'components') };
    const fault = parameterFault(shape, getList(card, 'components'));
    if (fault) return fault;
  }
  return null;
}

const isAuthentication = ({ category }: TemplateShape): boolean => category === 'AUTHENTICATION';

function textsFault(
  template: TemplateShape,
  where: string,
  text: string,
  parameters: readonly unknown[],
): Fault | null {
  const variables = variablesIn(text);
  if (parameters.length !== variables.length) {
    return count(`${where}: number of localizable_params (${parameters.length}) is not ${variables.length}`);
  }
  const invalid = parameters.find((parameter) => textOf(parameter) === '');
  if (invalid !== undefined)
    return format(`${where}: each parameter must be a text, a currency or a date_time with a value`);
  // As reported in netflie/whatsapp-cloud-api issue 201.
  if (parameters.some((parameter) => /[\n\t]| {5}/.test(textOf(parameter))))
    return wrong('Param text cannot have new-line/tab characters or more than 4 consecutive spaces');
  if (template.parameterFormat !== 'NAMED') return null;
  const names = parameters.map((parameter) => getText(parameter, 'parameter_name'));
  return variables.every((name) => names.includes(name))
    ? null
    : format(`${where}: parameter_name ${variables.join()}`);
}

/** Returns the text that replaces a variable; an empty string when the value has none of the formats. */
function textOf(parameter: unknown): string {
  const type = getText(parameter, 'type');
  if (type === 'text') return getText(parameter, 'text');
  return type === 'currency' || type === 'date_time' ? getText(getMember(parameter, type), 'fallback_value') : '';
}

function buttonParametersFault(template: TemplateShape, sent: readonly unknown[]): Fault | null {
  const buttons = getList(componentOf(template, 'BUTTONS'), 'buttons');
  const given = sent.filter((component) => typeOf(component) === 'button');
  const stray = given.find((component) => buttons[indexOf(component)] === undefined);
  if (stray !== undefined) return count(`button: the template has no button ${indexOf(stray)}`);
  for (const [index, button] of buttons.entries()) {
    const fault = buttonFault(button, index, given, isAuthentication(template) ? codeIn(sent) : null);
    if (fault) return fault;
  }
  return null;
}

const indexOf = (component: unknown): number => Number(getText(component, 'index') || numberIn(component, 'index'));

function numberIn(json: unknown, name: string): number {
  const value = getMember(json, name);
  return typeof value === 'number' ? value : Number.NaN;
}

const codeIn = (sent: readonly unknown[]): string => textOf(parametersOf(sent, 'body')[0]);

/** A button with a variable needs exactly one value of its type; for a one-time password, the code in the body. */
function buttonFault(button: unknown, index: number, given: readonly unknown[], code: string | null): Fault | null {
  const wanted = wantedBy(button);
  if (wanted === null) return null;
  const component = given.find((one) => indexOf(one) === index);
  const [only, ...more] = getList(component, 'parameters');
  if (only === undefined || more.length > 0) return count(`button ${index}: one parameter`);
  if (getText(component, 'sub_type').toLowerCase() !== wanted.subType) return format(`button ${index}: sub_type`);
  const value = getText(only, wanted.member);
  const isGiven = value !== '' || (wanted.member === 'action' && getMember(only, 'action') !== undefined);
  if (getText(only, 'type') !== wanted.member || !isGiven) return format(`button ${index}: ${wanted.member}`);
  if (code === null) return null;
  return value === code && code.length <= MAX_CODE_LENGTH ? null : format(`button ${index}: the code of the body, ≤15`);
}

function wantedBy(button: unknown): { readonly subType: string; readonly member: string } | null {
  switch (getText(button, 'type').toUpperCase()) {
    case 'URL':
      return variablesIn(getText(button, 'url')).length > 0 ? { subType: 'url', member: 'text' } : null;
    case 'COPY_CODE':
      return { subType: 'copy_code', member: 'coupon_code' };
    case 'OTP':
      return { subType: 'url', member: 'text' };
    case 'FLOW':
      return { subType: 'flow', member: 'action' };
    case 'MPM':
      return { subType: 'mpm', member: 'action' };
    default:
      return null;
  }
}
