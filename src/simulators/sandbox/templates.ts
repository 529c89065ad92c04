import { type RcsBody, toContentMessage } from '../../network/templates/rcs-body.ts';

/** The sandbox's WhatsApp templates, which are available to every account, in the format that creates templates. */
export const WHATSAPP_TEMPLATES = [
  {
    id: '900000000000001',
    name: 'sandbox_welcome',
    language: 'en',
    category: 'UTILITY',
    parameter_format: 'POSITIONAL',
    components: [
      { type: 'BODY', text: 'Hello {{1}}, this message came through the sandbox.', example: { body_text: [['Ana']] } },
      { type: 'FOOTER', text: 'Heliograph sandbox' },
    ],
    variables: ['firstName|there'],
  },
  {
    id: '900000000000002',
    name: 'sandbox_hello',
    language: 'en',
    category: 'MARKETING',
    parameter_format: 'POSITIONAL',
    components: [{ type: 'BODY', text: 'Hello from the sandbox.' }],
    variables: [],
  },
] as const;

const TEXT: RcsBody = {
  type: 'TEXT',
  text: 'Hello {{firstName}}, this message came through the sandbox.',
  suggestions: [{ reply: { text: 'Thank you', postbackData: 'thanks' } }],
};

const CARD: RcsBody = {
  type: 'CARD',
  card: {
    title: 'A card for {{firstName}}',
    description: 'Cards have a title, a text, a picture and buttons.',
    suggestions: [
      {
        action: {
          text: 'Open',
          postbackData: 'open',
          openUrlAction: { url: 'https://example.com/' },
        },
      },
    ],
  },
};

/** The sandbox's RCS templates, which are available to every account while the sandbox is on. */
export const RCS_TEMPLATES = [
  { id: '01900000-0000-7000-8000-000000000001', name: 'Sandbox text', content: toContentMessage(TEXT) },
  { id: '01900000-0000-7000-8000-000000000002', name: 'Sandbox card', content: toContentMessage(CARD) },
].map((template) => ({ ...template, variables: ['firstName|there'] }));
