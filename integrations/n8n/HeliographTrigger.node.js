const { createHmac, timingSafeEqual } = require('node:crypto');

const ENDPOINTS = '/api/partner-gateway/v1/webhooks/endpoints';
const MAX_AGE_SECONDS = 300;

class HeliographTrigger {
  description = {
    displayName: 'Heliograph Trigger',
    name: 'heliographTrigger',
    icon: 'fa:comment-dots',
    group: ['trigger'],
    version: 1,
    description: 'Starts the workflow with each event of the chosen types',
    defaults: { name: 'Heliograph Trigger' },
    inputs: [],
    outputs: ['main'],
    credentials: [{ name: 'heliographApi', required: true }],
    webhooks: [{ name: 'default', httpMethod: 'POST', responseMode: 'onReceived', path: 'events' }],
    properties: [
      {
        displayName: 'Event Types',
        name: 'eventTypes',
        type: 'multiOptions',
        typeOptions: { loadOptionsMethod: 'listTypes' },
        default: ['message.received'],
        required: true,
      },
    ],
  };

  methods = {
    loadOptions: {
      async listTypes() {
        const types = await call(this, 'GET', '/api/partner-gateway/v1/webhooks/event-types');
        return types.map(({ type, description }) => ({ name: type, value: type, description }));
      },
    },
  };

  /** n8n calls these when the workflow is switched on and off: the endpoint exists as long as the workflow listens. */
  webhookMethods = {
    default: {
      async checkExists() {
        const { endpointId } = this.getWorkflowStaticData('node');
        if (!endpointId) return false;
        const endpoints = await call(this, 'GET', ENDPOINTS);
        return endpoints.some(({ id, url }) => id === endpointId && url === this.getNodeWebhookUrl('default'));
      },
      async create() {
        const stored = this.getWorkflowStaticData('node');
        const { id, secret } = await call(this, 'POST', ENDPOINTS, {
          url: this.getNodeWebhookUrl('default'),
          name: `n8n: ${this.getWorkflow().name}`.slice(0, 100),
          eventTypes: this.getNodeParameter('eventTypes'),
        });
        Object.assign(stored, { endpointId: id, secret });
        return true;
      },
      async delete() {
        const stored = this.getWorkflowStaticData('node');
        if (stored.endpointId) await call(this, 'DELETE', `${ENDPOINTS}/${stored.endpointId}`).catch(() => undefined);
        delete stored.endpointId;
        delete stored.secret;
        return true;
      },
    },
  };

  async webhook() {
    const { secret = '' } = this.getWorkflowStaticData('node');
    const { rawBody } = this.getRequestObject();
    if (!isGenuine(secret, this.getHeaderData(), rawBody)) {
      this.getResponseObject().status(401).end();
      return { noWebhookResponse: true };
    }
    return { workflowData: [[{ json: this.getBodyData() }]] };
  }
}

async function call(context, method, path, body) {
  const { baseUrl } = await context.getCredentials('heliographApi');
  const url = `${baseUrl.replace(/\/$/, '')}${path}`;
  return context.helpers.httpRequestWithAuthentication.call(context, 'heliographApi', {
    method,
    url,
    body,
    json: true,
  });
}

/** Checks the signature of Standard Webhooks. */
function isGenuine(secret, headers, body) {
  const { 'webhook-id': id, 'webhook-timestamp': sent, 'webhook-signature': given = '' } = headers;
  if (secret === '' || !body || Math.abs(Date.now() / 1000 - Number(sent)) > MAX_AGE_SECONDS) return false;
  const key = Buffer.from(secret.replace('whsec_', ''), 'base64');
  const expected = Buffer.from(
    `v1,${createHmac('sha256', key).update(`${id}.${sent}.`).update(body).digest('base64')}`,
  );
  return given.split(' ').some((one) => one.length === expected.length && timingSafeEqual(Buffer.from(one), expected));
}

module.exports = { HeliographTrigger };
