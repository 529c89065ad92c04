class HeliographApi {
  name = 'heliographApi';
  displayName = 'Heliograph API';
  properties = [
    {
      displayName: 'Base URL',
      name: 'baseUrl',
      type: 'string',
      default: '',
      placeholder: 'https://gateway.example.com',
      required: true,
    },
    {
      displayName: 'API Key',
      name: 'apiKey',
      type: 'string',
      typeOptions: { password: true },
      default: '',
      required: true,
    },
  ];
  authenticate = { type: 'generic', properties: { headers: { 'X-API-Key': '={{$credentials.apiKey}}' } } };
  test = { request: { baseURL: '={{$credentials.baseUrl}}', url: '/api/partner-gateway/v1/webhooks/event-types' } };
}

module.exports = { HeliographApi };
