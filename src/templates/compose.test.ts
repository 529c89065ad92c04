import { expect, test } from 'vitest';
import { expectLinear } from '../../test/support/linear.ts';
import {
  composeContent,
  composeText,
  fillTemplate,
  findTextFault,
  inOneLine,
  mediaOf,
  placeholdersOf,
  type Sendable,
} from './content.ts';
import { toContentMessage } from './schema.ts';

const template = (more: Partial<Sendable>): Sendable => ({
  channel: 'WHATSAPP',
  id: '1',
  ownerId: null,
  name: 'order',
  language: 'pt_PT',
  category: '',
  status: 'APPROVED',
  reason: null,
  content: [],
  headerLink: null,
  trafficType: null,
  named: false,
  variables: [],
  campaignComponents: null,
  ...more,
});
const ORDER = [
  {
    type: 'BUTTONS',
    buttons: [
      { type: 'QUICK_REPLY', text: 'Stop' },
      { type: 'URL', url: 'https://x.example/{{1}}' },
    ],
  },
  { type: 'BODY', text: 'Order {{2}} of {{1}} has left.' },
  { type: 'HEADER', format: 'TEXT', text: 'Hi {{1}}' },
  { type: 'FOOTER', text: 'Acme' },
];
const labels = (more: Partial<Sendable>): string[] => placeholdersOf(template(more)).map(({ label }) => label);

test('placeholders come in the order header, body, buttons, with numbers ascending whatever the order in the text', () => {
  expect(labels({ content: ORDER })).toEqual(['header.1', '1', '2', 'button.1.1']);
});

test('a placeholder that occurs twice in one place counts once', () => {
  expect(labels({ content: [{ type: 'BODY', text: '{{ name }}, dear {{name}}, {{city}}' }] })).toEqual([
    'name',
    'city',
  ]);
});

test('the placeholders of RCS are sorted by name, however the JSON is stored', () => {
  const card = { title: '{{b}} and {{a}}', description: '{{c}}' };
  const content = toContentMessage({ type: 'CARD', card });
  expect(labels({ channel: 'RCS', content })).toEqual(['a', 'b', 'c']);
});

test('the values of a WhatsApp template are placed as the network requires', () => {
  const content = composeContent(template({ content: ORDER }), { values: ['Ana', 'Ana', '12345', 'abc'] });
  expect(content).toEqual({
    channel: 'WHATSAPP',
    message: {
      type: 'template',
      template: {
        name: 'order',
        language: { code: 'pt_PT', policy: 'deterministic' },
        components: [
          { type: 'header', parameters: [{ type: 'text', text: 'Ana' }] },
          {
            type: 'body',
            parameters: [
              { type: 'text', text: 'Ana' },
              { type: 'text', text: '12345' },
            ],
          },
          { type: 'button', sub_type: 'url', index: '1', parameters: [{ type: 'text', text: 'abc' }] },
        ],
      },
    },
  });
});

test('named parameters have their names, except those of buttons', () => {
  const content = [
    { type: 'BODY', text: 'Hello {{first_name}}' },
    { type: 'BUTTONS', buttons: [{ type: 'URL', url: 'https://x.example/{{1}}' }] },
  ];
  expect(composeContent(template({ content, named: true }), { values: ['Ana', 'abc'] }).message).toMatchObject({
    template: {
      components: [
        { type: 'body', parameters: [{ type: 'text', parameter_name: 'first_name', text: 'Ana' }] },
        { type: 'button', parameters: [{ type: 'text', text: 'abc' }] },
      ],
    },
  });
});

test('a template without placeholders has no components', () => {
  const content = composeContent(template({ content: [{ type: 'BODY', text: 'Hello' }] }), { values: [] });
  expect(content.message).toEqual({
    type: 'template',
    template: { name: 'order', language: { code: 'pt_PT', policy: 'deterministic' } },
  });
});

test('a media header shows the file of the send, or else that of the template', () => {
  const image = template({ content: [{ type: 'HEADER', format: 'IMAGE' }], headerLink: 'https://x.example/own.jpg' });
  const shown = (headerLink?: string) => composeContent(image, { values: [], headerLink }).message;
  expect(mediaOf(image)).toBe('image');
  const header = (link: string) => ({
    template: { components: [{ parameters: [{ type: 'image', image: { link } }] }] },
  });
  expect(shown()).toMatchObject(header('https://x.example/own.jpg'));
  expect(shown('https://x.example/a.jpg')).toMatchObject(header('https://x.example/a.jpg'));
});

test('values of RCS are filled into every text, and braces within a value are kept', () => {
  const content = toContentMessage({
    type: 'TEXT',
    text: 'Hello {{ first }}, {{unknown}}',
    suggestions: [{ reply: { text: 'OK', postbackData: 'ok-{{first}}' } }],
  });
  const filled = composeContent(template({ channel: 'RCS', content }), { values: ['{{unknown}}', 'x'] });
  expect(filled.message).toEqual({
    text: 'Hello {{unknown}}, x',
    suggestions: [{ reply: { text: 'OK', postbackData: 'ok-{{unknown}}' } }],
  });
});

test('an open placeholder with nothing but blanks takes time in proportion to its length', async () => {
  await expectLinear(
    (size) => template({ channel: 'RCS', content: { text: `{{${' '.repeat(size)}` } }),
    (hostile) => composeText(hostile, { values: [] }),
  );
});

test('the readable text has the texts on separate lines, without buttons', () => {
  const order = template({ content: ORDER });
  expect(composeText(order, { values: ['Ana', 'Ana', '12', 'abc'] })).toBe('Hi Ana\nOrder 12 of Ana has left.\nAcme');
  const card = { title: 'A', description: 'B', suggestions: [{ reply: { text: 'no', postbackData: 'x' } }] };
  const content = toContentMessage({ type: 'CAROUSEL', cards: [card, { title: '{{x}}' }] });
  expect(composeText(template({ channel: 'RCS', content }), { values: ['C'] })).toBe('A\nB\nC');
});

test('values may be given by the names of the placeholders, and each missing one is named', () => {
  const order = template({ content: ORDER });
  const all = { 'header.1': 'Ana', '1': 'Bo', '2': '12', 'button.1.1': 'abc' };
  expect(fillTemplate(order, { variables: all })).toEqual({ values: ['Ana', 'Bo', '12', 'abc'], faults: [] });
  const { faults } = fillTemplate(order, { variables: { '1': 'Bo', '2': '' } });
  expect(faults.map(({ field }) => field)).toEqual([
    'template.variables.header.1',
    'template.variables.2',
    'template.variables.button.1.1',
  ]);
});

test.each(['two\nlines', 'a\ttab', 'five     spaces'])('a value that WhatsApp would refuse is named: %j', (value) => {
  const order = template({ content: ORDER });
  expect(fillTemplate(order, { variables: ['Ana', 'Bo', value, 'abc'] }).faults).toEqual([
    { field: 'template.variables.2', message: 'must have no line breaks, tabs or more than four spaces in a row' },
  ]);
  expect(fillTemplate(order, { variables: ['Ana', 'Bo', 'four    spaces', 'abc'] }).faults).toEqual([]);
  const card = template({ channel: 'RCS', content: { text: 'See {{x}}' } });
  expect(fillTemplate(card, { variables: [value] }).faults).toEqual([]);
});

test('a list of values must have one value per placeholder', () => {
  const { faults } = fillTemplate(template({ content: ORDER }), { variables: ['Ana'] });
  expect(faults).toMatchObject([{ field: 'template.variables', message: expect.stringContaining('must be 4') }]);
});

test('a header with media needs a file', () => {
  const image = template({ content: [{ type: 'HEADER', format: 'VIDEO' }] });
  expect(fillTemplate(image, {}).faults).toMatchObject([{ field: 'template.headerLink' }]);
  expect(fillTemplate(image, { headerLink: 'https://x.example/a.mp4' }).faults).toEqual([]);
});

test('blanks of any kind in the value of a template take linear time', async () => {
  await expectLinear((size) => '\u00a0'.repeat(size), findTextFault);
  await expectLinear((size) => `${'\u00a0'.repeat(size)}\n${' '.repeat(size)}x`, inOneLine);
});
