const PG = '/api/partner-gateway/v1';
const MS = '/api/message-server';

const field = (displayName, name, operations, more = {}) => ({
  displayName,
  name,
  type: 'string',
  default: '',
  displayOptions: { show: { operation: operations } },
  ...more,
});
const SENDS = ['sendSms', 'sendWhatsapp', 'sendRcs'];

/** Each operation makes its request from the parameters of an item. */
const REQUESTS = {
  sendSms: ({ to, text, sender, more }) => ({
    method: 'POST',
    path: `${MS}/sms/send`,
    body: { destination: to, body: text, sender, ...more },
  }),
  sendWhatsapp: ({ to, text, sender, template, language, variables, more }) => ({
    method: 'POST',
    path: `${MS}/whatsapp/send`,
    body: {
      phoneNumberId: sender,
      destination: to,
      ...(template ? { template: { name: template, language, variables } } : { body: { type: 'TEXT', text } }),
      ...more,
    },
  }),
  sendRcs: ({ to, text, sender, more }) => ({
    method: 'POST',
    path: `${MS}/rcs/send`,
    body: { agentId: sender, destination: to, body: { type: 'TEXT', text }, ...more },
  }),
  findStatus: ({ messageId }) => ({
    method: 'GET',
    path: `${PG}/messages/status/${encodeURIComponent(messageId)}`,
  }),
  upsertContact: ({ contact }) => ({ method: 'POST', path: `${PG}/contacts`, body: contact }),
};

class Heliograph {
  description = {
    displayName: 'Heliograph',
    name: 'heliograph',
    icon: 'fa:comment-dots',
    group: ['output'],
    version: 1,
    subtitle: '={{$parameter["operation"]}}',
    description: 'Send SMS, WhatsApp and RCS, look up messages and keep contacts',
    defaults: { name: 'Heliograph' },
    inputs: ['main'],
    outputs: ['main'],
    credentials: [{ name: 'heliographApi', required: true }],
    properties: [
      {
        displayName: 'Operation',
        name: 'operation',
        type: 'options',
        noDataExpression: true,
        default: 'sendSms',
        options: [
          { name: 'Send an SMS', value: 'sendSms', action: 'Send an SMS' },
          { name: 'Send a WhatsApp Message', value: 'sendWhatsapp', action: 'Send a WhatsApp message' },
          { name: 'Send an RCS Message', value: 'sendRcs', action: 'Send an RCS message' },
          { name: 'Look up a Message', value: 'findStatus', action: 'Look up a message' },
          { name: 'Create or Change a Contact', value: 'upsertContact', action: 'Create or change a contact' },
        ],
      },
      field('To', 'to', SENDS, { required: true, placeholder: '+393331234567' }),
      field('Sender', 'sender', SENDS, {
        required: true,
        description: 'On WhatsApp the phoneNumberId, on RCS the agentId',
      }),
      field('Text', 'text', SENDS, { typeOptions: { rows: 3 } }),
      field('Template', 'template', ['sendWhatsapp'], { description: 'Name of a template, instead of a text' }),
      field('Language', 'language', ['sendWhatsapp'], { default: 'en' }),
      field('Variables', 'variables', ['sendWhatsapp'], { type: 'json', default: '[]' }),
      field('Further Fields', 'more', SENDS, {
        type: 'json',
        default: '{}',
        description: 'Such as metadata, tags, customerMessageId or scheduledDate',
      }),
      field('Message ID', 'messageId', ['findStatus'], { required: true, description: 'Ours or your own' }),
      field('Contact', 'contact', ['upsertContact'], {
        type: 'json',
        default: '{ "phoneNumber": "", "firstName": "" }',
        description: 'A contact with the same number is changed',
      }),
    ],
  };

  async execute() {
    const { baseUrl } = await this.getCredentials('heliographApi');
    const call = ({ method, path, body }) =>
      this.helpers.httpRequestWithAuthentication.call(this, 'heliographApi', {
        method,
        url: `${baseUrl.replace(/\/$/, '')}${path}`,
        body,
        json: true,
      });
    const results = [];
    for (const [i] of this.getInputData().entries()) {
      try {
        results.push({ json: await run(this, i, call), pairedItem: i });
      } catch (error) {
        if (!this.continueOnFail()) throw error;
        results.push({ json: { error: error.message }, pairedItem: i });
      }
    }
    return [results];
  }
}

async function run(context, i, call) {
  const operation = context.getNodeParameter('operation', i);
  const names = ['to', 'text', 'sender', 'template', 'language', 'variables', 'more', 'messageId', 'contact'];
  const given = Object.fromEntries(names.map((name) => [name, read(context.getNodeParameter(name, i, ''), name)]));
  const request = REQUESTS[operation](given);
  const answer = await call(request).catch((error) => changeExisting(operation, error, request, call));
  // The gateway answers 200 also if it rejects the message.
  const { reasons, accepted = true } = resultOf(answer);
  if (!accepted) throw new Error(`The message was rejected: ${reasons.join('; ')}`);
  return answer;
}

const resultOf = ({ results }) => (results ? (Object.values(results)[0] ?? {}) : {});

const JSON_FIELDS = ['variables', 'more', 'contact'];
const read = (value, name) =>
  JSON_FIELDS.includes(name) && typeof value === 'string' && value ? JSON.parse(value) : value;

/** A contact that has the number is named in the response, 409. */
function changeExisting(operation, error, { body }, call) {
  const answer = error.response?.data ?? error.response?.body ?? error.cause?.response?.data ?? {};
  const [, id] = /belongs to contact (\d+)/.exec(`${answer.message ?? ''} ${error.message}`) ?? [];
  if (operation !== 'upsertContact' || !id) throw error;
  return call({ method: 'PUT', path: `${PG}/contacts/${id}`, body });
}

module.exports = { Heliograph };
