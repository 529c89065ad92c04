import { resolve } from 'node:path';
import { invalidFields } from '../../platform/errors.ts';
import { KEYS } from '../../platform/setting-table.ts';
import { type Answers, readable } from './answers.ts';
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
    rule: published,
  });
  if (publicUrl === '') return { step: 'address', settings: {}, detail: 'this machine alone' };
  const ending = await readEnding(answers, known);
  const end = ending['TLS_CERT'] ? `with the certificate ${ending['TLS_CERT']}` : `behind ${ending['TRUST_PROXY']}`;
  return { step: 'address', settings: { PUBLIC_URL: publicUrl, ...ending }, detail: `${publicUrl}, ${end}` };
}

function published(answer: string): void {
  if (answer !== '' && !answer.startsWith('https://')) throw new Error('must begin with https://');
  KEYS.PUBLIC_URL.parse(answer);
}

async function readEnding(answers: Answers, known: Partial<Settings>): Promise<Settings> {
  const cert = await answers.text({
    flag: 'tlsCert',
    text: 'PEM file with its certificate (empty: a proxy in front has it)',
    known: known['TLS_CERT'],
    isOpen: !known['TRUST_PROXY'],
    rule: (answer) => (answer === '' ? undefined : readable(answer)),
  });
  if (cert === '') {
    const proxy = await answers.text({
      flag: 'trustProxy',
      text: 'Address from which the proxy connects',
      known: known['TRUST_PROXY'],
      fallback: '127.0.0.1',
      rule: KEYS.TRUST_PROXY.parse,
    });
    return { TRUST_PROXY: proxy };
  }
  const key = await answers.text({
    flag: 'tlsKey',
    text: 'PEM file with its private key',
    known: known['TLS_KEY'],
    rule: readable,
  });
  if (key === '') throw invalidFields([{ field: '--tls-key', message: 'is required with --tls-cert' }]);
  const host = await answers.text({
    flag: 'host',
    text: 'Address to listen on',
    known: known['HOST'],
    fallback: '0.0.0.0',
  });
  const port = await answers.text({
    flag: 'port',
    text: 'Port to listen on',
    known: known['PORT'],
    fallback: '8443',
    rule: KEYS.PORT.parse,
  });
  return {
    TLS_CERT: absolute(cert, known['TLS_CERT']),
    TLS_KEY: absolute(key, known['TLS_KEY']),
    HOST: host,
    PORT: port,
  };
}

/** The service starts in another folder than this command. What is in the settings already stays as it is. */
const absolute = (path: string, known: string | undefined): string => (path === known ? path : resolve(path));
