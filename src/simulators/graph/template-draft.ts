import { getList, getMember, getText } from '../../carriers/json.ts';
import type { Fault } from './answer.ts';
import { variablesIn } from './template-parameters.ts';

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
export function draftFault(body: unknown, isSample: IsSample): Fault | null {
  if (!/^[a-z0-9_]{1,512}$/.test(getText(body, 'name'))) return wrong('name: 1 to 512 of a-z, 0-9 and _');
  if (!/^[a-z]{2,3}(_[A-Z]{2,4})?$/.test(getText(body, 'language'))) return wrong('language: such as pt_PT');
  if (!CATEGORIES.includes(getText(body, 'category'))) return wrong(`category: one of ${CATEGORIES.join(', ')}`);
  return componentsFault(getList(body, 'components'), { category: getText(body, 'category'), isSample });
}

/** Validates only the components, for templates that are edited; null when they are valid. */
export function componentsFault(components: readonly unknown[], rules: Rules): Fault | null {
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
