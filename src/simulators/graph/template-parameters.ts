import { getList, getMember, getText } from '../../carriers/json.ts';
import type { Fault } from './answer.ts';

/** The fields of a template that decide which values a message needs; `components` as they were created. */
export type TemplateShape = {
  readonly category: string;
  readonly parameterFormat: string;
  readonly components: readonly unknown[];
};

const MAX_BODY_LENGTH = 1024;
const MAX_CODE_LENGTH = 15;

const count = (details: string): Fault => ({ code: 132000, details });
const format = (details: string): Fault => ({ code: 132012, details });

/** Returns the variables in a text of a template, each once, in order. */
export const variablesIn = (text: string): string[] => [
  ...new Set([...text.matchAll(/\{\{\s*(\w+)\s*\}\}/g)].map(([, name = '']) => name)),
];

/**
 * Validates the values of a message against its template (Cloud API, messages); null when they fit.
 */
export function parameterFault(template: TemplateShape, sent: readonly unknown[]): Fault | null {
  const known = new Set(['header', 'body', 'button', 'carousel']);
  const stray = sent.find((component) => !known.has(typeOf(component)));
  if (stray !== undefined) return { code: 131009, details: `component type ${typeOf(stray) || 'missing'}` };
  return (
    headerFault(template, parametersOf(sent, 'header')) ??
    bodyFault(template, parametersOf(sent, 'body')) ??
    buttonsFault(template, sent)
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
  if (kind === 'location') return typeof getMember(value, 'latitude') === 'number' ? null : format('header: latitude');
  return getText(value, 'id') === '' && getText(value, 'link') === '' ? format(`header: ${kind} id or link`) : null;
}

function bodyFault(template: TemplateShape, parameters: readonly unknown[]): Fault | null {
  const text = isAuthentication(template) ? '{{1}}' : getText(componentOf(template, 'BODY'), 'text');
  const fault = textsFault(template, 'body', text, parameters);
  if (fault) return fault;
  const length = parameters.reduce<number>((sum, parameter) => sum + textOf(parameter).length, text.length);
  return length > MAX_BODY_LENGTH ? { code: 132005, details: `body: more than ${MAX_BODY_LENGTH} characters` } : null;
}

const isAuthentication = ({ category }: TemplateShape): boolean => category === 'AUTHENTICATION';

/** Validates the number of values, their names if they have names, and their types. */
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

function buttonsFault(template: TemplateShape, sent: readonly unknown[]): Fault | null {
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
  if (getText(only, 'type') !== wanted.member || value === '') return format(`button ${index}: ${wanted.member}`);
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
    default:
      return null;
  }
}
