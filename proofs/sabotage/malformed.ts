import { APP } from '../../src/serve.ts';

// Bodies are parsed without a check for U+0000, which PostgreSQL cannot store.
APP.put((app) => {
  app.removeContentTypeParser('application/json');
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (_request, body, done) => {
    try {
      done(null, body === '' ? undefined : JSON.parse(String(body)));
    } catch (error) {
      done(Object.assign(new Error('malformed', { cause: error }), { statusCode: 400 }));
    }
  });
  return app;
});
