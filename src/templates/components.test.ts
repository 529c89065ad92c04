import { expect, test } from 'vitest';
import { bound, templateTo } from '../../test/support/carriers/whatsapp-harness.ts';
import { composeComponents, composeForCampaign, fieldsInComponents, findComponentFaults } from './components.ts';
import type { Sendable } from './content.ts';

const template = (content: readonly object[], more: Partial<Sendable> = {}): Sendable => ({
  channel: 'WHATSAPP',
  id: '1',
  ownerId: null,
  name: 'offer',
  language: 'en_US',
  category: '',
  status: 'APPROVED',
  reason: null,
  content,
  headerLink: null,
  trafficType: null,
  named: false,
  variables: [],
  campaignComponents: null,
  ...more,
});

const body = { type: 'BODY', text: 'See our offers today.' };
const greeting = { type: 'BODY', text: 'Dear {{1}}, see our offers.' };
const buttons = (...list: object[]) => ({ type: 'BUTTONS', buttons: list });
const button = (subType: string, parameter: object, index: string | number = '0') => ({
  type: 'button',
  sub_type: subType,
  index,
  parameters: [parameter],
});
const image = { type: 'header', parameters: [{ type: 'image', image: { id: '24230790383178626' } }] };
const payload = (text: string) => button('quick_reply', { type: 'payload', payload: text });
const action = (content: object) => ({ type: 'action', action: content });

/** A template of each documented kind, with components as Meta's pages of these kinds show them. */
const KINDS: readonly (readonly [kind: string, content: readonly object[], sent: readonly object[]])[] = [
  ['quick reply', [body, buttons({ type: 'QUICK_REPLY', text: 'Yes' })], [payload('yes-4711')]],
  [
    'URL',
    [greeting, buttons({ type: 'URL', text: 'See', url: 'https://x.example/{{1}}' })],
    [
      { type: 'body', parameters: [{ type: 'text', text: 'Ada' }] },
      button('url', { type: 'text', text: 'summer?c=1' }, 0),
    ],
  ],
  [
    'coupon',
    [body, buttons({ type: 'COPY_CODE', example: 'X' })],
    [button('copy_code', { type: 'coupon_code', coupon_code: '25OFF' })],
  ],
  [
    'Flow',
    [body, buttons({ type: 'FLOW', text: 'Book', flow_id: '1' })],
    [button('flow', action({ flow_token: 'AQ', flow_action_data: { product: 4 } }))],
  ],
  [
    'catalogue',
    [body, buttons({ type: 'CATALOG', text: 'View catalog' })],
    [button('catalog', action({ thumbnail_product_retailer_id: '2lc20305pt' }))],
  ],
  [
    'products',
    [{ type: 'HEADER', format: 'TEXT', text: 'Hi {{1}}' }, body, buttons({ type: 'MPM', text: 'View items' })],
    [
      { type: 'header', parameters: [{ type: 'text', text: 'Ada' }] },
      button(
        'mpm',
        action({
          thumbnail_product_retailer_id: '2lc20305pt',
          sections: [{ title: 'Bundles', product_items: [{ product_retailer_id: '2lc20305pt' }] }],
        }),
      ),
    ],
  ],
  [
    'carousel',
    [
      body,
      {
        type: 'CAROUSEL',
        cards: [1, 2].map(() => ({
          components: [
            { type: 'HEADER', format: 'IMAGE' },
            { type: 'BODY', text: 'Card of {{1}} here.' },
            buttons(
              { type: 'QUICK_REPLY', text: 'More' },
              { type: 'URL', text: 'Buy', url: 'https://x.example/{{1}}' },
            ),
          ],
        })),
      },
    ],
    [
      {
        type: 'carousel',
        cards: [0, 1].map((index) => ({
          card_index: index,
          components: [
            image,
            { type: 'body', parameters: [{ type: 'text', text: 'Ada' }] },
            payload(`more-${index}`),
            button('url', { type: 'text', text: 'buy' }, 1),
          ],
        })),
      },
    ],
  ],
  [
    'limited-time offer',
    [
      { type: 'LIMITED_TIME_OFFER', limited_time_offer: { text: 'Ends soon', has_expiration: true } },
      body,
      buttons({ type: 'COPY_CODE', example: 'X' }),
    ],
    [
      {
        type: 'limited_time_offer',
        parameters: [{ type: 'limited_time_offer', limited_time_offer: { expiration_time_ms: 1_209_600_000_000 } }],
      },
      button('copy_code', { type: 'coupon_code', coupon_code: 'CARIBE25' }, 0),
    ],
  ],
  [
    'order status',
    [body],
    [
      {
        type: 'order_status',
        parameters: [
          {
            type: 'order_status',
            order_status: { reference_id: 'order-4711', order: { status: 'shipped', description: 'On its way' } },
          },
        ],
      },
    ],
  ],
  [
    'location',
    [{ type: 'HEADER', format: 'LOCATION' }, body],
    [
      {
        type: 'header',
        parameters: [{ type: 'location', location: { latitude: '37.44', longitude: '-122.16', name: 'Shop' } }],
      },
    ],
  ],
];

test.each(KINDS)('the components of a template with %s pass to the network byte for byte', async (_, content, sent) => {
  const own = template(content);
  expect(findComponentFaults(own, sent, 'components')).toEqual([]);
  const drafts = [{ name: own.name, language: own.language, category: 'MARKETING', components: content }];
  const { graph, carrier } = await bound({ templates: drafts });
  const outcome = await carrier.submit(templateTo('+16505551234', { content: composeComponents(own, sent).content }));
  expect(outcome).toMatchObject({ kind: 'accepted' });
  const received = graph.ledger.messages()[0]?.content as { components: unknown };
  expect(JSON.stringify(received.components)).toBe(JSON.stringify(sent));
});

const full = template([
  { type: 'HEADER', format: 'IMAGE' },
  greeting,
  buttons({ type: 'QUICK_REPLY', text: 'Yes' }, { type: 'URL', text: 'See', url: 'https://x.example/{{1}}' }),
]);
const ada = { type: 'body', parameters: [{ type: 'text', text: 'Ada' }] };
const url = button('url', { type: 'text', text: 'x' }, 1);

test.each<[string, readonly object[], string[]]>([
  [
    'a parameter of another type',
    [image, ada, button('url', { type: 'payload', payload: 'x' }, 1)],
    ['c[2].parameters[0]'],
  ],
  [
    'too many parameters',
    [image, { ...ada, parameters: [...ada.parameters, ...ada.parameters] }, url],
    ['c[1].parameters'],
  ],
  [
    'a file of another kind',
    [{ type: 'header', parameters: [{ type: 'video', video: { id: '1' } }] }, ada, url],
    ['c[0].parameters[0]'],
  ],
  [
    'another kind of button',
    [image, ada, button('quick_reply', { type: 'payload', payload: 'x' }, 1)],
    ['c[2].sub_type'],
  ],
  ['a button that is not there', [image, ada, url, button('url', { type: 'text', text: 'x' }, 2)], ['c[3]']],
  ['a part twice', [image, ada, ada, url], ['c[2]']],
  ['a part that the template lacks', [image, ada, url, { type: 'carousel', cards: [] }], ['c[3]']],
  ['a component without a type', [image, ada, url, {}], ['c[3]']],
  ['nothing', [], ['c', 'c', 'c']],
])('components with %s are rejected, naming the place', (_, sent, fields) => {
  expect(findComponentFaults(full, sent, 'c').map(({ field }) => field)).toEqual(fields);
});

test('a fault in a card names the card, and cards are in their order', () => {
  const [, content = [], sent = []] = KINDS.find(([kind]) => kind === 'carousel') ?? [];
  const [carousel] = sent as { cards: { card_index: number; components: object[] }[] }[];
  const fieldsOf = (cards: readonly object[]) =>
    findComponentFaults(template(content), [{ type: 'carousel', cards }], 'c').map(({ field }) => field);
  const [first = { card_index: 0, components: [] }, second = first] = carousel?.cards ?? [];
  const lame = {
    ...second,
    components: second.components.filter((one) => one !== image).with(0, { type: 'body', parameters: [] }),
  };
  expect(fieldsOf([first, lame])).toEqual(['c[0].cards[1].components[0].parameters', 'c[0].cards[1].components']);
  expect(fieldsOf([second, first])).toEqual(['c[0].cards[0].card_index', 'c[0].cards[1].card_index']);
  expect(fieldsOf([first])).toEqual(['c[0].cards']);
});

test('a campaign fills the contact fields in its components, and nothing else', () => {
  const [, content = []] = KINDS.find(([kind]) => kind === 'URL') ?? [];
  const campaignComponents = [
    { type: 'body', parameters: [{ type: 'text', text: '{{firstName|friend}}' }] },
    button('url', { type: 'text', text: 'summer?c={{city}}' }, 0),
  ];
  const variables = fieldsInComponents(campaignComponents);
  expect(variables.toSorted()).toEqual(['city', 'firstName|friend']);
  const own = template(content, { variables, campaignComponents });
  expect(composeForCampaign(own, { 'firstName|friend': '{{city}}', city: 'Rome' })).toEqual({
    content: composeComponents(own, [
      { type: 'body', parameters: [{ type: 'text', text: '{{city}}' }] },
      button('url', { type: 'text', text: 'summer?c=Rome' }, 0),
    ]).content,
    body: 'Dear {{city}}, see our offers.',
  });
  expect(composeForCampaign(own, { city: 'Rome' })).toBeNull();
});

test('the values of contacts are put on one line, as WhatsApp requires', () => {
  const own = template([{ type: 'BODY', text: 'To {{1}}.' }], { variables: ['address'] });
  const sent = composeForCampaign(own, { address: 'Via Roma 1\r\n\t00100     Roma' });
  expect(sent?.body).toBe('To Via Roma 1 00100 Roma.');
  expect(JSON.stringify(sent?.content)).toContain('"text":"Via Roma 1 00100 Roma"');
  const broken = [{ type: 'body', parameters: [{ type: 'text', text: 'a\nb' }] }];
  expect(findComponentFaults(own, broken, 'components')).toMatchObject([{ field: 'components[0].parameters[0]' }]);
});

test('values with names are found by their names, and people read the text with them', () => {
  const named = template([{ type: 'BODY', text: 'Dear {{first_name}}, see {{thing}} today.' }], { named: true });
  const parameter = (name: string, text: string) => ({ type: 'text', parameter_name: name, text });
  const sent = [{ type: 'body', parameters: [parameter('thing', 'shoes'), parameter('first_name', 'Ada')] }];
  expect(findComponentFaults(named, sent, 'c')).toEqual([]);
  expect(composeComponents(named, sent).body).toBe('Dear Ada, see shoes today.');
  const wrong = [{ type: 'body', parameters: [parameter('thing', 'shoes'), parameter('colour', 'red')] }];
  expect(findComponentFaults(named, wrong, 'c')).toMatchObject([{ field: 'c[0].parameters[1]' }]);
});
