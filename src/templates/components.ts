import { getList, getMember, getText } from '../channels/settings.ts';
import type { FieldError } from '../core/errors.ts';
import { placeholderNames, splitPlaceholders, valuesIn } from '../core/schema.ts';
import type { WhatsAppContent } from '../channels/carrier.ts';
import {
  composeContent,
  composeText,
  findTextFault,
  inOneLine,
  placeholdersOf,
  type Sendable,
  type SentComponents,
  templateMessage,
} from './content.ts';

/*
 * The components of a WhatsApp template message, as a client gives them, pass to the network as they are once they fit
 * the template. Rules: Cloud API, template messages, with the pages of their kinds
 * (developers.facebook.com/documentation/business-messaging/whatsapp/templates: marketing-templates with
 * media-card-carousel-templates, coupon-templates, limited-time-offer-templates and product templates;
 * utility-templates; payments/payments-in/orderstatustemplate; flows/guides/sendingaflow).
 */

/** Returns the error of one parameter, or null. */
type CheckParameter = (parameter: unknown) => string | null;

/** Values that a message may or must have for one part of the template. */
type Slot = {
  /** The part as errors name it: `body`, `button 1`. */
  readonly name: string;
  /** The `sub_type` of a button. */
  readonly subType?: string;
  readonly required: boolean;
  /** The number of parameters; `optional` allows none as well. */
  readonly count: number;
  readonly optional?: true;
  readonly check: CheckParameter;
};

/** Returns the content and the readable text of a message with these components, which fit the template. */
export function composeComponents(
  template: Sendable,
  sent: SentComponents,
): { readonly content: WhatsAppContent; readonly body: string } {
  const values = placeholdersOf(template).map(({ place, name }) => textIn(template, sent, { place, name }));
  return {
    content: templateMessage(template, sent),
    body: composeText(template, { values }),
  };
}

/**
 * Returns the content and the readable text of a campaign's message from the values of the template's variables; null
 * when one is missing.
 */
export function composeForCampaign(template: Sendable, given: Readonly<Record<string, string>>) {
  const { channel, variables, campaignComponents } = template;
  if (!variables.every((entry) => given[entry] !== undefined)) return null;
  const values = channel === 'WHATSAPP' ? mapValues(given, inOneLine) : given;
  if (campaignComponents) return composeComponents(template, campaignComponents.map(filledWith(values)));
  const filling = { values: variables.map((entry) => values[entry] ?? '') };
  return { content: composeContent(template, filling), body: composeText(template, filling) };
}

const mapValues = (values: Readonly<Record<string, string>>, change: (value: string) => string) =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, change(value)]));

/** Lists the contact fields in components, each once: `firstName|friend` for `{{firstName|friend}}`. */
export function fieldsInComponents(components: SentComponents): string[] {
  const found = new Set<string>();
  for (const value of valuesIn(components))
    if (typeof value === 'string')
      for (const part of splitPlaceholders(value, { defaults: true }))
        if (typeof part !== 'string') found.add(entryOf(part));
  return [...found];
}

const entryOf = ({ whole }: { readonly whole: string }): string => whole.slice(2, -2).trim();

/** Fills the texts of a component. Recursion is safe: it was checked against a template, and is a few levels deep. */
function filledWith(values: Readonly<Record<string, string>>) {
  const fill = (value: unknown): unknown => {
    if (typeof value === 'string')
      return splitPlaceholders(value, { defaults: true })
        .map((part) => (typeof part === 'string' ? part : (values[entryOf(part)] ?? part.whole)))
        .join('');
    if (Array.isArray(value)) return value.map(fill);
    return isObject(value) ? fillObject(value) : value;
  };
  const fillObject = (object: object): object =>
    Object.fromEntries(Object.entries(object).map(([key, value]) => [key, fill(value)]));
  return fillObject;
}

/** Returns the text that a message shows for a placeholder of the header or the body. */
function textIn(
  template: Sendable,
  sent: SentComponents,
  at: { readonly place: string; readonly name: string },
): string {
  const parameters = getList(
    sent.find((component) => typeOf(component) === at.place),
    'parameters',
  );
  const own = template.named
    ? parameters.find((parameter) => getText(parameter, 'parameter_name') === at.name)
    : parameters[Number(at.name) - 1];
  return getText(own, 'text') || getText(getMember(own, getText(own, 'type')), 'fallback_value');
}

type Shape = Pick<Sendable, 'named'> & { readonly content: unknown };

const LOWEST_CARDS = 2;
const MAX_CARDS = 10;

/**
 * Returns the errors of components that do not fit a template, each with its place: `components[2].parameters[0]`.
 *
 * @param path the place of the components in the request
 */
export function findComponentFaults(template: Shape, sent: SentComponents, path: string): FieldError[] {
  const slots = slotsOf(template);
  const cards = cardsOf(template.content);
  const seen = new Set<string>();
  const faults = sent.flatMap((component, i): FieldError[] => {
    const at = `${path}[${i}]`;
    const key = keyOf(component);
    if (seen.has(key)) return [{ field: at, message: `the ${nameOf(key)} was given before` }];
    seen.add(key);
    if (key === 'carousel' && cards !== null) return cardFaults(template, cards, component, at);
    const slot = slots.get(key);
    return slot ? slotFaults(slot, component, at) : [{ field: at, message: strayText(key) }];
  });
  const missing = [...slots].filter(([key, { required }]) => required && !seen.has(key)).map(([, slot]) => slot.name);
  if (cards !== null && !seen.has('carousel')) missing.push('carousel');
  return [
    ...faults,
    ...missing.map((name) => ({ field: path, message: `the template needs a component for its ${name}` })),
  ];
}

const typeOf = (component: unknown): string => getText(component, 'type').toLowerCase();

const indexIn = (component: unknown): string => {
  const index = getMember(component, 'index');
  return typeof index === 'number' ? String(index) : getText(component, 'index');
};

const keyOf = (component: unknown): string => {
  const type = typeOf(component);
  return type === 'button' ? `button ${indexIn(component)}` : type;
};
const nameOf = (key: string): string => key || 'component without a type';

const strayText = (key: string): string => `the template has no ${nameOf(key)} that takes parameters`;

function slotFaults({ subType, count, optional, check }: Slot, component: unknown, at: string): FieldError[] {
  const given = getText(component, 'sub_type').toLowerCase();
  if (subType !== undefined && given !== subType)
    return [{ field: `${at}.sub_type`, message: `must be ${subType} for this button` }];
  const parameters = getList(component, 'parameters');
  if (parameters.length !== count && !(optional && parameters.length === 0))
    return [{ field: `${at}.parameters`, message: `must have ${count} items, not ${parameters.length}` }];
  return parameters.flatMap((parameter, n) => {
    const message = check(parameter);
    return message === null ? [] : [{ field: `${at}.parameters[${n}]`, message }];
  });
}

/** Checks each card like a separate template; cards are in their order, from 0. */
function cardFaults({ named }: Shape, cards: readonly unknown[], component: unknown, at: string): FieldError[] {
  const given = getList(component, 'cards');
  const most = Math.min(cards.length, MAX_CARDS);
  if (given.length < Math.min(LOWEST_CARDS, most) || given.length > most)
    return [{ field: `${at}.cards`, message: `must have ${LOWEST_CARDS} to ${most} items, not ${given.length}` }];
  return given.flatMap((card, i): FieldError[] => {
    const place = `${at}.cards[${i}]`;
    const misplaced = getMember(card, 'card_index') !== i;
    if (misplaced) return [{ field: `${place}.card_index`, message: `must be ${i}` }];
    const components = getList(card, 'components').map((one) => (typeof one === 'object' && one !== null ? one : {}));
    const content = getMember(cards[i], 'components');
    return findComponentFaults({ named, content: withoutCarousel(content) }, components, `${place}.components`);
  });
}

const partsOf = (content: unknown): readonly unknown[] => (Array.isArray(content) ? content : []);
const withoutCarousel = (content: unknown): unknown => partsOf(content).filter((part) => typeOf(part) !== 'carousel');

/** Returns the cards of a template with a carousel; null without one. */
function cardsOf(content: unknown): readonly unknown[] | null {
  const carousel = partsOf(content).find((part) => typeOf(part) === 'carousel');
  return carousel === undefined ? null : getList(carousel, 'cards');
}

/** The parts of a template for which a message gives parameters, by the key of their components. */
function slotsOf({ content, named }: Shape): Map<string, Slot> {
  const slots = new Map<string, Slot>();
  // Whether a template reports the state of an order is not among what the network tells about it.
  slots.set('order_status', slot('order_status', checkOrderStatus, { required: false }));
  for (const part of partsOf(content)) {
    const type = typeOf(part);
    if (type === 'header') addSlot(slots, type, headerSlot(part, named));
    if (type === 'body') addSlot(slots, type, textSlot(type, getText(part, 'text'), named));
    if (type === 'limited_time_offer') slots.set(type, offerSlot(part));
    if (type === 'buttons')
      for (const [index, button] of getList(part, 'buttons').entries()) {
        const name = `button ${index}`;
        addSlot(slots, name, buttonSlot(name, button));
      }
  }
  return slots;
}

const addSlot = (slots: Map<string, Slot>, key: string, found: Slot | null): void => {
  if (found) slots.set(key, found);
};

const slot = (name: string, check: CheckParameter, more: Partial<Slot> = {}): Slot => ({
  name,
  required: true,
  count: 1,
  check,
  ...more,
});

function headerSlot(header: unknown, named: boolean): Slot | null {
  const format = getText(header, 'format').toLowerCase();
  if (format === '' || format === 'text') return textSlot('header', getText(header, 'text'), named);
  const check = HEADERS[format];
  return check ? slot('header', check) : null;
}

function textSlot(name: string, text: string, named: boolean): Slot | null {
  const names = placeholderNames(text);
  return names.length === 0 ? null : slot(name, checkText(named ? names : null), { count: names.length });
}

function offerSlot(part: unknown): Slot {
  const required = getMember(getMember(part, 'limited_time_offer'), 'has_expiration') === true;
  return slot('limited_time_offer', checkOffer, { required });
}

/** The kinds of buttons that take parameters, by their type in the template. */
function buttonSlot(name: string, button: unknown): Slot | null {
  const type = getText(button, 'type').toUpperCase();
  switch (type) {
    case 'URL':
      return placeholderNames(getText(button, 'url')).length > 0
        ? slot(name, checkText(null), { subType: 'url' })
        : null;
    case 'OTP':
      return slot(name, checkText(null), { subType: 'url' });
    case 'QUICK_REPLY':
      return slot(name, checkPayload, { subType: 'quick_reply', required: false });
    case 'COPY_CODE':
      return slot(name, checkCoupon, { subType: 'copy_code' });
    case 'FLOW':
      // Without parameters, the network sends the token "unused".
      return slot(name, checkFlow, { subType: 'flow', optional: true });
    case 'CATALOG':
      return slot(name, checkCatalog, { subType: 'catalog', required: false, optional: true });
    case 'MPM':
      return slot(name, checkProducts, { subType: 'mpm' });
    default:
      return null;
  }
}

const isText = (value: unknown): value is string => typeof value === 'string' && value !== '';
const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const isNumber = (value: unknown): boolean =>
  (typeof value === 'number' && Number.isFinite(value)) || (typeof value === 'string' && /^-?\d+(\.\d+)?$/.test(value));

/** Returns the value of a parameter of this type; null if the parameter has another one. */
const valueOf = (parameter: unknown, type: string): unknown =>
  getText(parameter, 'type').toLowerCase() === type ? getMember(parameter, type) : null;

/** A text, an amount or a date, with the name of a placeholder where these have names. */
const checkText =
  (names: readonly string[] | null): CheckParameter =>
  (parameter) => {
    const type = getText(parameter, 'type').toLowerCase();
    const value =
      type === 'text' ? getMember(parameter, 'text') : getMember(getMember(parameter, type), 'fallback_value');
    if (!['text', 'currency', 'date_time'].includes(type) || !isText(value))
      return 'must be a text that is not empty, a currency or a date_time with its fallback_value';
    const fault = findTextFault(value);
    if (fault !== null) return fault;
    if (names === null || names.includes(getText(parameter, 'parameter_name'))) return null;
    return `must have the parameter_name of a placeholder: ${names.join(', ')}`;
  };

const checkMedia =
  (type: string): CheckParameter =>
  (parameter) => {
    const value = valueOf(parameter, type);
    const has = [getText(value, 'id'), getText(value, 'link')].filter(isText).length === 1;
    return has ? null : `must be of type ${type}, with either an id or a link`;
  };

const HEADERS: Readonly<Record<string, CheckParameter>> = {
  image: checkMedia('image'),
  video: checkMedia('video'),
  document: checkMedia('document'),
  location(parameter) {
    const value = valueOf(parameter, 'location');
    return isNumber(getMember(value, 'latitude')) && isNumber(getMember(value, 'longitude'))
      ? null
      : 'must be of type location, with latitude and longitude';
  },
  product(parameter) {
    const value = valueOf(parameter, 'product');
    return isText(getMember(value, 'product_retailer_id')) && isText(getMember(value, 'catalog_id'))
      ? null
      : 'must be of type product, with product_retailer_id and catalog_id';
  },
};

const checkPayload: CheckParameter = (parameter) =>
  isText(valueOf(parameter, 'payload')) ? null : 'must be of type payload, with a payload that is not empty';

const checkCoupon: CheckParameter = (parameter) =>
  isText(valueOf(parameter, 'coupon_code')) ? null : 'must be of type coupon_code, with a code that is not empty';

const checkFlow: CheckParameter = (parameter) => {
  const action = valueOf(parameter, 'action');
  const [token, data] = [getMember(action, 'flow_token'), getMember(action, 'flow_action_data')];
  return isObject(action) && (token === undefined || isText(token)) && (data === undefined || isObject(data))
    ? null
    : 'must be of type action; its action may have a flow_token (a text) and flow_action_data (an object)';
};

const checkCatalog: CheckParameter = (parameter) =>
  isText(getMember(valueOf(parameter, 'action'), 'thumbnail_product_retailer_id'))
    ? null
    : 'must be of type action, with the thumbnail_product_retailer_id';

const MAX_SECTIONS = 10;
const MAX_PRODUCTS = 30;

const checkProducts: CheckParameter = (parameter) => {
  const sections = getList(valueOf(parameter, 'action'), 'sections');
  const products = sections.flatMap((section) => getList(section, 'product_items'));
  const fits =
    sections.length >= 1 && sections.length <= MAX_SECTIONS && products.length >= 1 && products.length <= MAX_PRODUCTS;
  return fits && products.every((product) => isText(getMember(product, 'product_retailer_id')))
    ? null
    : `must be of type action, with 1 to ${MAX_SECTIONS} sections of together 1 to ${MAX_PRODUCTS} product_items, each with its product_retailer_id`;
};

const checkOffer: CheckParameter = (parameter) =>
  isNumber(getMember(valueOf(parameter, 'limited_time_offer'), 'expiration_time_ms'))
    ? null
    : 'must be of type limited_time_offer, with expiration_time_ms (the time in milliseconds since 1970)';

const checkOrderStatus: CheckParameter = (parameter) => {
  const value = valueOf(parameter, 'order_status');
  return isText(getMember(value, 'reference_id')) && isText(getMember(getMember(value, 'order'), 'status'))
    ? null
    : 'must be of type order_status, with reference_id and order.status';
};
