import { getList, getMember, getText } from '../../carriers/json.ts';
import type { Fault } from './answer.ts';

const missing = (details: string): Fault => ({ code: 131008, details: `interactive.${details}` });
const bad = (details: string): Fault => ({ code: 131009, details: `interactive.${details}` });

/** Types whose action is not validated. */
const UNVALIDATED_TYPES = ['product', 'product_list', 'catalog_message', 'order_details', 'order_status'];

/** Validates an interactive message (Cloud API, messages); null when it is valid. */
export function interactiveFault(content: unknown): Fault | null {
  const type = getText(content, 'type');
  const action = getMember(content, 'action');
  if (typeof action !== 'object' || action === null) return missing('action');
  const fault = lengthFault(content, ['header', 'text', 60], ['body', 'text', 1024], ['footer', 'text', 60]);
  if (fault) return fault;
  if (!UNVALIDATED_TYPES.includes(type) && getText(getMember(content, 'body'), 'text') === '')
    return missing('body.text');
  switch (type) {
    case 'button':
      return buttonsFault(getList(action, 'buttons'));
    case 'list':
      return headerIsText(content) ? listFault(action) : bad('header: must be a text for a list');
    case 'cta_url':
      return urlFault(getMember(action, 'parameters'));
    case 'flow':
      return flowFault(getMember(action, 'parameters'));
    default:
      return [...UNVALIDATED_TYPES, 'location_request_message', 'call_permission_request'].includes(type)
        ? null
        : bad('type');
  }
}

type Limit = readonly [member: string, name: string, maxLength: number];

function lengthFault(content: unknown, ...limits: readonly Limit[]): Fault | null {
  const exceeded = limits.find(([member, name, max]) => getText(getMember(content, member), name).length > max);
  if (!exceeded) return null;
  const [member, name, max] = exceeded;
  return bad(`${member}.${name}: at most ${max} characters`);
}

const headerIsText = (content: unknown): boolean => {
  const header = getMember(content, 'header');
  return header === undefined || getText(header, 'type') === 'text';
};

const fits = (text: string, maxLength: number): boolean => text !== '' && text.length <= maxLength;

function buttonsFault(buttons: readonly unknown[]): Fault | null {
  if (buttons.length === 0 || buttons.length > 3) return bad('action.buttons: 1 to 3');
  const replies = buttons.map((button) => getMember(button, 'reply'));
  if (buttons.some((button) => getText(button, 'type') !== 'reply')) return bad('action.buttons.type');
  if (!replies.every((reply) => fits(getText(reply, 'id'), 256))) return bad('action.buttons.reply.id');
  if (!replies.every((reply) => fits(getText(reply, 'title'), 20))) return bad('action.buttons.reply.title');
  return isUnique(replies.map((reply) => getText(reply, 'id'))) ? null : bad('action.buttons.reply.id: must be unique');
}

const isUnique = (ids: readonly string[]): boolean => new Set(ids).size === ids.length;

function listFault(action: unknown): Fault | null {
  const sections = getList(action, 'sections');
  const rows = sections.flatMap((section) => getList(section, 'rows'));
  if (!fits(getText(action, 'button'), 20)) return bad('action.button');
  if (sections.length === 0 || sections.length > 10) return bad('action.sections: 1 to 10');
  if (rows.length === 0 || rows.length > 10) return bad('action.sections.rows: 1 to 10 in all');
  const titles = sections.map((section) => getText(section, 'title'));
  if (titles.some((title) => title.length > 24 || (title === '' && titles.length > 1))) {
    return bad('action.sections.title');
  }
  return rowsFault(rows);
}

function rowsFault(rows: readonly unknown[]): Fault | null {
  if (!rows.every((row) => fits(getText(row, 'id'), 200))) return bad('action.sections.rows.id');
  if (!rows.every((row) => fits(getText(row, 'title'), 24))) return bad('action.sections.rows.title');
  if (rows.some((row) => getText(row, 'description').length > 72)) return bad('action.sections.rows.description');
  return isUnique(rows.map((row) => getText(row, 'id'))) ? null : bad('action.sections.rows.id: must be unique');
}

function urlFault(parameters: unknown): Fault | null {
  if (!fits(getText(parameters, 'display_text'), 20)) return bad('action.parameters.display_text');
  return /^https?:\/\//.test(getText(parameters, 'url')) ? null : bad('action.parameters.url');
}

function flowFault(parameters: unknown): Fault | null {
  if (getText(parameters, 'flow_id') === '' && getText(parameters, 'flow_name') === '') {
    return missing('action.parameters.flow_id');
  }
  const absent = ['flow_message_version', 'flow_cta'].find((name) => getText(parameters, name) === '');
  return absent === undefined ? null : missing(`action.parameters.${absent}`);
}
