import { invalidFields } from '../../platform/errors.ts';
import type { Answers } from './answers.ts';
import type { Settings } from './env-file.ts';
import type { Wanted } from './step.ts';

/**
 * Asks for the address that others use, and where its HTTPS ends: in the program, with a certificate, or in a proxy in
 * front. Without an address the program serves this machine alone, which is for trials.
 */
export async function setUpAddress(answers: Answers, known: Partial<Settings>): Promise<Wanted> {
  const publicUrl = await answers.text({
    flag: 'publicUrl',
    text: 'Address that carriers and users reach, such as https://sms.example.com (empty: this machine alone)',
    known: known['PUBLIC_URL'],
  });
  if (publicUrl === '') return { step: 'address', settings: {}, detail: 'this machine alone' };
  if (!publicUrl.startsWith('https://'))
    throw invalidFields([{ field: '--public-url', message: 'must begin with https://' }]);
  const ending = await readEnding(answers, known);
  const end = ending['TLS_CERT'] ? `with the certificate ${ending['TLS_CERT']}` : `behind ${ending['TRUST_PROXY']}`;
  return { step: 'address', settings: { PUBLIC_URL: publicUrl, ...ending }, detail: `${publicUrl}, ${end}` };
}

async function readEnding(answers: Answers, known: Partial<Settings>): Promise<Settings> {
  const cert = await answers.text({
    flag: 'tlsCert',
    text: 'PEM file with its certificate (empty: a proxy in front has it)',
    known: known['TLS_CERT'],
    isOpen: !known['TRUST_PROXY'],
  });
  if (cert === '') {
    const proxy = await answers.text({
      flag: 'trustProxy',
      text: 'Address from which the proxy connects',
      known: known['TRUST_PROXY'],
      fallback: '127.0.0.1',
    });
    return { TRUST_PROXY: proxy };
  }
  const key = await answers.text({ flag: 'tlsKey', text: 'PEM file with its private key', known: known['TLS_KEY'] });
  if (key === '') throw invalidFields([{ field: '--tls-key', message: 'is required with --tls-cert' }]);
  const host = await answers.text({
    flag: 'host',
    text: 'Address to listen on',
    known: known['HOST'],
    fallback: '0.0.0.0',
  });
  const port = await answers.text({ flag: 'port', text: 'Port to listen on', known: known['PORT'], fallback: '8443' });
  return { TLS_CERT: cert, TLS_KEY: key, HOST: host, PORT: port };
}
