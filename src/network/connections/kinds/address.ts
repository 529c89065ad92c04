/** Host and port of an address that begins with http:// or https://. */
export function addressOfUrl(text: string): { host: string; port: number } {
  const { hostname, port, protocol } = new URL(text);
  const usual = protocol === 'https:' ? 443 : 80;
  return { host: hostname.replace(/^\[|\]$/g, ''), port: port === '' ? usual : Number(port) };
}
