import { readFile, writeFile } from 'node:fs/promises';
import { basename } from 'node:path';

/**
 * Writes a generated file. With --check on the command line, compares only, and makes the process fail if it differs.
 */
export async function checkOrWrite(file: URL, content: string): Promise<void> {
  if (!process.argv.includes('--check')) return writeFile(file, content);
  const found = await readFile(file, 'utf8').catch(() => '');
  if (found === content) return;
  const script = basename(process.argv[1] ?? '');
  console.error(`${basename(file.pathname)} is out of date: run "node scripts/${script}" and commit the result.`);
  process.exitCode = 1;
}
